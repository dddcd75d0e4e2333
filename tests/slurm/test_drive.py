#!/usr/bin/env python3
"""stint slurm drive on a real Slurm: held jobs are placed, gangs, arrays, dependencies, preemption; and nothing is lost or run
twice when slurmctld, a slurmd or stint is killed.

Usage: test_drive.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from running_cluster import STINT, RunningCluster


class Drive(RunningCluster):
    LINES = ["KillWait=1", "SlurmdTimeout=15", "MinJobAge=60", "JobRequeue=1"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slurm.run("sacctmgr", "-i", "add", "qos", "urgent")
        cls.slurm.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos=normal,urgent")

    def setUp(self):
        self.drivers = []  # of this test, the last is the one that should be alive

    def tearDown(self):
        self.slurm.run("scancel", "--state=PENDING", check=False)
        self.slurm.run("scancel", "--state=RUNNING", check=False)
        self.wait("the queue is empty", lambda: not self.slurm.run("squeue", "-h", check=False).stdout)

    def submit(self, script, *arguments):
        return super().submit(script, "--hold", *arguments)

    def drive_once(self, *arguments):
        done = subprocess.run([STINT, "slurm", "drive", "--once", "--json", "--patience", "15s", *arguments],
                              env=self.slurm.environment(), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start_driver(self, *arguments):
        log = open(self.folder / "drive.log", "a")
        driver = subprocess.Popen([STINT, "slurm", "drive", "--interval", "300ms", "--patience", "15s", "--rest", "1s", *arguments],
                                  env=self.slurm.environment(), stdout=log, stderr=log)
        log.close()
        self.addCleanup(self.end, driver)
        self.drivers.append(driver)
        return driver

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=30)

    def more(self):
        """What drives first, as a report may be cut short: whether it is alive, what it said last, and what Slurm counts as used."""
        drivers = [f"driver {d.pid}: {'alive' if d.poll() is None else f'ended with {d.returncode}'}" for d in self.drivers]
        log = self.folder / "drive.log"
        said = log.read_text().splitlines()[-40:] if log.exists() else []
        used = [line for line in self.slurm.run("scontrol", "show", "node", "-d", check=False).stdout.splitlines()
                if re.search("NodeName|GresUsed|State=", line)]
        controller = self.slurm.folder / "log" / "slurmctld.log"
        return "\n".join([*drivers, *said, *used, *(controller.read_text().splitlines()[-120:] if controller.exists() else []),
                          self.slurm.run("scontrol", "show", "job", check=False).stdout])

    def jobs(self):
        """id → (state, nodes, restarts)"""
        answer = json.loads(self.slurm.run("squeue", "--json").stdout)
        rows = {}
        for job in answer["jobs"]:
            name = f"{job['array_job_id']}_{job['array_task_id']}" if job["array_task_id"] is not None else str(job["job_id"])
            rows[name] = (job["job_state"], job["nodes"], job["restart_cnt"])
        return rows

    def state(self, job):
        return self.jobs().get(job, ("GONE", "", 0))[0]

    def test_one_pass_places_gangs_arrays_and_leaves_what_waits(self):
        # None of them ends by itself, however slow the machine is: what an end makes room for would be placed with what is looked for.
        gang = self.submit("sleep 3000", "-N2", "--gres=gpu:4", "-t", "60")
        whole = self.submit("sleep 3000", "--gres=gpu:h200:8", "-t", "60")
        array = self.submit("sleep 3000", "--gres=gpu:1", "--array=0-5%2", "-t", "60")
        after = self.submit("true", f"--dependency=afterany:{whole}", "--gres=gpu:1", "-t", "5")
        owner = self.submit("true", "--gres=gpu:1", "--comment=stint:hold", "-t", "5")
        answer = self.drive_once()
        placed = {order["job"]: order["nodes"] for order in answer["orders"]}
        self.assertEqual(set(placed), {gang, whole, f"{array}_0", f"{array}_1"})
        self.assertEqual(len(set(placed[gang])), 2)
        self.wait("they run", lambda: all(self.state(j) == "RUNNING" for j in placed))
        for job, nodes in placed.items():
            on = self.slurm.run("scontrol", "show", "hostnames", self.jobs()[job][1]).stdout.split()
            self.assertEqual(sorted(on), sorted(nodes), f"job {job} is where it was put")
        self.assertEqual(self.drive_once()["orders"], [], "nothing is left to do")
        self.slurm.run("scancel", whole)
        self.wait("it is gone", lambda: self.state(whole) in ("CANCELLED", "GONE"))
        self.wait("the dependency is seen", lambda: [o["job"] for o in self.drive_once()["orders"]] == [after])
        self.assertEqual(self.state(owner), "PENDING")

    def test_advice_is_what_drive_would_do_and_changes_nothing(self):
        job = self.submit("sleep 3000", "--gres=gpu:8", "-t", "60")
        done = subprocess.run([STINT, "slurm", "advise"], env=self.slurm.environment(), text=True, capture_output=True, check=True)
        self.assertIn(f"scontrol release {job}", done.stdout)
        self.assertEqual(self.state(job), "PENDING")
        commands = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        subprocess.run(["sh", "-e", "-c", "\n".join(commands)], env=self.slurm.environment(), check=True, capture_output=True)
        self.wait("pasted, it runs", lambda: self.state(job) == "RUNNING")

    def test_a_job_that_goes_first_has_another_save_and_wait(self):
        saved = self.folder / "saved"
        script = (f"trap 'echo saved >> {saved}' USR1; echo begun $SLURM_RESTART_COUNT >> {saved}; "
                  "for i in $(seq 600); do sleep 0.1; done")
        low = self.submit(script, f"-N{self.NODES}", "--gres=gpu:8", "-t", "5", "--comment=stint:checkpoint=1s,signal=USR1,grace=10s")
        self.start_driver("--qos", "urgent=100")
        self.wait("it runs", lambda: self.state(low) == "RUNNING")
        time.sleep(2)  # a job that has just begun is not stopped
        high = self.submit("sleep 1", "--gres=gpu:8", "-t", "5", "--qos=urgent")
        self.wait("the urgent job has run", lambda: self.state(high) in ("COMPLETED", "GONE"))
        self.wait("the other one has come back", lambda: self.jobs()[low][0::2] == ("RUNNING", 1))
        self.wait("it began twice", lambda: saved.read_text().split("\n")[:3] == ["begun", "saved", "begun 1"])

    # The last of them by its name: what it leaves of the cluster is its own.
    def test_when_daemons_are_killed_nothing_is_lost_or_doubled(self):
        told = self.folder / "told"
        told.mkdir()
        script = f"echo begin $PPID $$ $(date +%s) >> {told}/$SLURM_JOB_ID; sleep $((1 + SLURM_JOB_ID % 3)); echo end >> {told}/$SLURM_JOB_ID"
        jobs = [self.submit(script, f"-N{1 + i % 4 // 3}", f"--gres=gpu:{[8, 4, 2, 8][i % 4]}", "-t", "5") for i in range(32)]
        arguments = ("--qos", "urgent=100")
        driver = self.start_driver(*arguments)

        def ended():
            return sum("end" in f.read_text() for f in told.iterdir())

        def wait_for(count, seconds=300):
            self.wait_as_operator(f"{count} have ended", lambda: ended() >= count, ended, seconds)
        wait_for(4)
        driver.kill()  # between or amid orders: it keeps nothing
        driver.wait()
        driver = self.start_driver(*arguments)
        wait_for(9)
        self.slurm.kill("slurmctld")
        killed = time.time()
        time.sleep(3)  # what it began last writes its first line by then
        back = time.time()
        self.slurm.start_again("slurmctld")
        # What ended while it was away it may only hear of when the machines register again: every 20 pings, 100 s here.
        wait_for(15, seconds=900)  # twice in a row slurmctld may lose count
        self.slurm.kill("slurmd-n2")  # its jobs go on, their keepers are separate processes
        self.slurm.start_again("slurmd-n2")
        wait_for(20, seconds=900)  # may wait for that, too
        self.resume_drained()
        self.lose_machine("n1", told)
        # Slurm puts off by two minutes what it runs again.
        self.wait_as_operator("Slurm has no more of them", self.queue_is_empty, ended, seconds=900)
        self.end(driver)
        self.assertEqual(ended(), len(jobs))
        # Accounting hears of the last ends a moment later.
        self.wait("accounting knows all ends", lambda: "RUNNING" not in self.slurm.run(
            "sacct", "-n", "-X", "-P", "-o", "state", "-j", ",".join(jobs)).stdout)
        runs = {}
        for row in self.slurm.run("sacct", "-n", "-X", "-D", "-P", "-o", "jobid,state", "-j", ",".join(jobs)).stdout.split():
            runs.setdefault(row.split("|")[0], []).append(row.split("|")[1])
        for job in jobs:
            lines = (told / job).read_text().split("\n")
            # Slurm runs again what it lost with a machine, even when its end was never heard of; nothing else runs twice.
            self.assertEqual(runs[job].count("COMPLETED"), 1, f"job {job}: {runs[job]}")
            self.assertLessEqual(set(runs[job]), {"COMPLETED", "NODE_FAIL", "REQUEUED"}, f"job {job}")
            begun = [int(line.split()[3]) for line in lines if line.startswith("begin")]
            # slurmctld writes its state every five seconds: of what it began after that it knows nothing when it is killed.
            forgotten = any(killed - 10 <= when <= back for when in begun)
            self.assertLessEqual(len(begun), len(runs[job]) + forgotten, f"job {job}: {lines}")
            self.assertIn("end", lines)

    def queue_is_empty(self):
        """No answer, while slurmctld comes up, is none."""
        told = self.slurm.run("squeue", "-h", check=False)
        return told.returncode == 0 and not told.stdout

    def wait_as_operator(self, what, ready, progress, seconds):
        """Slurmctld is restarted when stint says so, or nothing has happened for 150 s: one that was killed and came back (22.05) can
        lose count of the GPUs in use ("dealloc of node bad node_offset"), even twice in a row, and then leaves machines idle. Not without
        a word of stint's and sooner: it waits 100 s for the machines to register, and begins to count again when it is restarted."""
        def asked():
            return (self.folder / "drive.log").read_text().count("restart slurmctld")
        seen, since, followed = progress(), time.monotonic(), asked()

        def ready_or_helped():
            nonlocal seen, since, followed
            self.assertIsNone(self.drivers[-1].poll(), f"the driver has ended by itself\n{self.more()}")
            if ready():
                return True
            if progress() != seen:
                seen, since = progress(), time.monotonic()
            elif time.monotonic() - since > 150 or asked() > followed:
                print("slurmctld is restarted", file=sys.stderr)
                self.slurm.stop("slurmctld")
                self.slurm.start_again("slurmctld")
                since, followed = time.monotonic(), asked()
            return False
        self.wait(what, ready_or_helped, seconds)

    def resume_drained(self):
        """As an operator would: slurmctld back from an older state begins again what a machine still runs, and drains the machine for it
        ("Duplicate jobid")."""
        for node in self.slurm.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N").stdout.split():
            self.slurm.run("scontrol", "update", f"nodename={node}", "state=resume")

    def lose_machine(self, node, told):
        """The machine's slurmd and all that runs there die at once; it comes back after Slurm has noticed."""
        self.slurm.kill(f"slurmd-{node}")
        lost = [job for job, (state, nodes, _) in self.jobs().items()
                if state not in ("PENDING", "COMPLETED") and node in self.slurm.run("scontrol", "show", "hostnames", nodes).stdout.split()]
        for job in lost:
            begun = re.findall(r"begin (\d+) (\d+) \d+\n(?!end)", (told / job).read_text()) if (told / job).exists() else []
            for pid in begun[-1] if begun else ():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.wait("Slurm has noticed", lambda: "DOWN" in self.slurm.run("sinfo", "-h", "-n", node, "-o", "%T").stdout.upper())
        self.slurm.start_again(f"slurmd-{node}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
