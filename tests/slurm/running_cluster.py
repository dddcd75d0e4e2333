"""A real Slurm under a test case: up before its first test, down after its last."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import RunningDaemon  # noqa: E402

STINT = sys.argv.pop(1) if len(sys.argv) > 1 else "stint"
loader = importlib.machinery.SourceFileLoader("cluster", str(pathlib.Path(__file__).parent / "cluster"))
cluster = importlib.util.module_from_spec(importlib.util.spec_from_loader("cluster", loader))
loader.exec_module(cluster)

MISSING = cluster.missing(accounting=True)


@unittest.skipIf(MISSING, f"no real Slurm here: {', '.join(MISSING)}")
class RunningCluster(unittest.TestCase):
    """Four machines of eight h200 with accounting; `LINES` are added to slurm.conf."""
    NODES = 4
    CLOUD = 0
    ACCOUNTING = True
    CUT = None  # Cluster.up()
    LINES = []

    @classmethod
    def lines(cls):
        """Those that need the folder: cls.folder."""
        return cls.LINES

    @classmethod
    def power_lines(cls, *pools):
        """For slurm.conf: `stint slurm resume` and `suspend` start and stop machines of these pools; n1 stays on."""
        for verb in ["resume", "suspend"]:  # Slurm gives its programs one argument
            program = cls.folder / verb
            program.write_text(f"#!/bin/sh\nexec {os.path.abspath(STINT)} slurm {verb} \"$1\" --power-file {cls.folder}/power.json "
                               f">> {cls.folder}/power.log 2>&1\n")
            program.chmod(0o755)
        provider = pathlib.Path(__file__).parent / "fake_provider"
        (cls.folder / "power.json").write_text(json.dumps({"provider": [str(provider), str(cls.folder / "slurm")], "pools": pools}))
        return [f"ResumeProgram={cls.folder}/resume", f"SuspendProgram={cls.folder}/suspend", f"ResumeFailProgram={cls.folder}/suspend",
                "SuspendTime=4", "SuspendTimeout=5", "ResumeTimeout=60", "SuspendExcNodes=n1", "SlurmctldParameters=idle_on_node_suspend",
                "PrivateData=cloud"]

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(scratch.name)
        cls.slurm = cluster.Cluster(cls.folder / "slurm")
        cls.addClassCleanup(scratch.cleanup)
        cls.addClassCleanup(cls.slurm.down)
        cls.slurm.up(nodes=cls.NODES, gpus=8, model="h200", accounting=cls.ACCOUNTING, cloud=cls.CLOUD, cut=cls.CUT,
                     lines=["SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0", *cls.lines()])

    def submit(self, script, *arguments):
        """Its id."""
        return self.slurm.run("sbatch", "--parsable", "--output=/dev/null", *arguments, "--wrap", script,
                              cwd=self.folder).stdout.strip()

    def wait(self, what, ready, seconds=300):
        """The limit is for a machine with much else to do; who waits for what must come within a time measures it."""
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                self.fail(f"{what}: not after {seconds} s\n{self.slurm.run('squeue', check=False).stdout}\n{self.more()}")
            time.sleep(0.1)

    def more(self):
        """What else a failure shows."""
        return ""


class DaemonOverSlurm(RunningCluster):
    """Two machines under a daemon; no job is left after a test."""
    NODES = 2

    def start(self, config):
        folder = self.folder / self._testMethodName
        folder.mkdir()
        self.daemon = RunningDaemon(STINT, folder, config, simulate=False, flags=[], environment=self.slurm.environment())
        self.addCleanup(self.daemon.stop)
        self.wait("its machines are known", lambda: len(self.daemon.json("nodes")["nodes"]) == self.NODES)

    def tearDown(self):
        self.slurm.run("scancel", "--state=PENDING", check=False)
        self.slurm.run("scancel", "--state=RUNNING", check=False)
        self.wait("the queue is empty", lambda: not self.slurm.run("squeue", "-h", check=False).stdout)
