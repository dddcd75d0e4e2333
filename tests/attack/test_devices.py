#!/usr/bin/env python3
"""A job uses GPUs that it was not given: the variable says which ones a program looks at, and any program can be told otherwise.

GPUs here are device files alone, as in the tests of Slurm: what a job finds in /dev is what it could open.
Usage: test_devices.py STINT SOURCE_DIR [SUITE]
"""
import hashlib
import os
import pathlib
import sys
import time

from tenants import HERE, Attack, RunningDaemon, main, needs_root

GPUS = {"nodes": [dict(HERE["nodes"][0], gpus=2, gpu_model="L4", gpu_memory="24GiB")], "queues": HERE["queues"]}

# A machine with two GPUs, seen by the daemon alone. Their major has no driver here: opening one fails either way, and how tells.
MACHINE = """#!/bin/sh
exec unshare -m sh -c '
mount --bind /dev/pts /mnt && mount -t tmpfs -o mode=755 dev /dev && mkdir /dev/pts /dev/shm && mount --move /mnt /dev/pts || exit 90
mount -t tmpfs -o mode=1777 shm /dev/shm
( IFS=:; for n in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 ptmx:5:2 nvidia0:195:0 nvidia1:195:1 nvidiactl:195:255 kvm:10:232; do
  set -- $n ; mknod -m 666 /dev/$1 c $2 $3 || exit 91
done ) || exit 91
ln -s /proc/self/fd /dev/fd; ln -s /proc/self/fd/0 /dev/stdin; ln -s /proc/self/fd/1 /dev/stdout; ln -s /proc/self/fd/2 /dev/stderr
exec "$0" "$@"' @STINT@ "$@"
"""


@needs_root
class Gpus(Attack):
    CONFIG = GPUS
    LOOK = "for f in /dev/nvidia*; do [ -e $f ] && echo $f; done; true"

    def start(self, *flags):
        machine = self.folder / "machine"
        machine.write_text(MACHINE.replace("@STINT@", str(pathlib.Path(self.STINT).resolve())))
        machine.chmod(0o755)
        self.daemon = RunningDaemon(str(machine), self.folder, self.CONFIG, simulate=False, flags=flags)
        self.daemon.program = self.STINT  # of commands
        self.addCleanup(self.daemon.stop)
        self.eve = self.token_of("eve", "submitter@acme")

    def test_only_what_was_given_is_there(self):
        for accounts in (("--jobs-as-range", "61500-61509"), ("--jobs-as", "nobody")):
            with self.subTest(accounts=accounts):
                self.start(*accounts)
                self.assertEqual(self.run_job(self.eve, "acme", self.LOOK), "")
                one = self.run_job(self.eve, "acme", self.LOOK, "--gpus", "1").split()
                self.assertEqual(len(one), 2, one)
                self.assertIn("/dev/nvidiactl", one)
                self.assertEqual(self.run_job(self.eve, "acme", self.LOOK, "--gpus", "2").split(), ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"])
                told = self.run_job(self.eve, "acme", "export CUDA_VISIBLE_DEVICES=0,1; " + self.LOOK, "--gpus", "1").split()
                self.assertEqual(told, one, "the variable opens nothing")
                self.daemon.stop()

    def test_it_cannot_be_made_again_and_the_rest_is_usable(self):
        self.start("--jobs-as-range", "61500-61509")
        script = ("touch /dev/nvidia1 2>&1 | grep -o 'Permission denied\\|Read-only file system'; echo x > /dev/null && head -c 1 /dev/urandom | wc -c; "
                  "echo ours > /dev/shm/stint-attack && cat /dev/shm/stint-attack && rm /dev/shm/stint-attack; echo fine > /dev/stderr; ls /dev/kvm 2>&1 | wc -w")
        lines = self.run_job(self.eve, "acme", script).splitlines()
        self.assertIn(lines[0], ("Permission denied", "Read-only file system"))
        self.assertEqual(lines[1:3], ["1", "ours"])
        self.assertIn("fine", lines)
        self.daemon.stop()
        self.start("--jobs-as-range", "61500-61509", "--job-device", "/dev/kvm")
        self.assertEqual(self.run_job(self.eve, "acme", "ls /dev/kvm"), "/dev/kvm\n")

    def test_a_file_made_elsewhere_opens_nothing(self):
        tree = next((t for t in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(t + "/cgroup.controllers")), None)
        if tree is None:
            self.skipTest("needs a cgroup v2 tree")
        group = f"{tree}/stint-attack-{os.getpid()}"
        os.mkdir(group)
        self.addCleanup(lambda: [os.rmdir(g) for g in (f"{group}/tasks", group) if os.path.isdir(g)])
        self.start("--jobs-as-range", "61500-61509", "--cgroup", f"{group}/tasks")
        if "No device filter" in (self.folder / "daemon.log").read_text():
            self.skipTest("the kernel takes no device filter here")
        self.try_files_made_elsewhere()

    def test_a_file_made_elsewhere_opens_nothing_under_version_1(self):
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        root = next((words[1] for words in mounts if words[2] == "cgroup" and "devices" in words[3].split(",")), None)
        if root is None or not os.access(root, os.W_OK):
            self.skipTest("needs the device controller of cgroup version 1")
        self.start("--jobs-as-range", "61500-61509")
        self.try_files_made_elsewhere()
        groups = f"stint-{hashlib.sha256(str(self.daemon.state / 'work').encode()).hexdigest()[:8]}-*"
        self.assertEqual(list(pathlib.Path(root).rglob(groups)), [], "they go with their tasks")

    def try_files_made_elsewhere(self):
        elsewhere = pathlib.Path("/srv") / f"stint-attack-{os.getpid()}"
        elsewhere.mkdir(mode=0o755)
        self.addCleanup(elsewhere.rmdir)
        for number in (0, 1):
            node = elsewhere / f"gpu{number}"
            os.mknod(node, 0o20666, os.makedev(195, number))
            node.chmod(0o666)
            self.addCleanup(node.unlink)
        look = f"for n in 0 1; do cat {elsewhere}/gpu$n 2>&1 | grep -o 'not permitted\\|No such device'; done"
        self.assertEqual(self.run_job(self.eve, "acme", look).splitlines(), ["not permitted"] * 2)
        self.assertEqual(sorted(self.run_job(self.eve, "acme", look, "--gpus", "1").splitlines()), ["No such device", "not permitted"])


class Handover(Attack):
    """What a job leaves in a GPU's memory, the next client's job reads. The memory is a file here, and the driver the tests' NVML."""
    CONFIG = dict(GPUS, nodes=[dict(GPUS["nodes"][0], gpus=1)])

    def setUp(self):
        super().setUp()
        self.memory, self.pids, self.scrub = self.folder / "memory", self.folder / "pids", self.folder / "scrub"
        self.memory.write_text("")
        self.pids.write_text("")
        self.folder.chmod(0o755)
        self.CONFIG = dict(self.CONFIG, telemetry={"nvml_library": os.environ.get("STINT_FAKE_NVML", ""), "every": 0.2},
                           alerts={"every": "1s", "rules": [{"name": "GpuHeldBack", "measure": "fact", "fact": "held-back", "comparison": ">", "threshold": 0,
                                              "summary": "A GPU gets no job."}]})
        self.leave = f"echo a-secret > {self.memory}"
        self.read = f"cat {self.memory}; echo read"

    def program(self, script):
        draft = self.folder / "draft"
        draft.write_text(f"#!/bin/sh\n{script}\n")
        draft.chmod(0o700)
        draft.rename(self.scrub)

    def start(self, *flags):
        environment = {"FAKE_NVML_PIDS": str(self.pids), "FAKE_NVML_USED_MIB": "10"}
        self.daemon = RunningDaemon(self.STINT, self.folder, self.CONFIG, simulate=False, environment=environment,
                                    flags=["--insecure-shared-user", *flags])
        self.addCleanup(self.daemon.stop)
        self.eve, self.zoe = self.token_of("eve", "submitter@acme"), self.token_of("zoe", "submitter@zoo")

    def comes_true(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.gpu()
            time.sleep(0.05)

    def gpu(self):
        return self.daemon.ask("GET", "/v1/gpus")["gpus"][0]

    def test_memory_is_scrubbed_before_another_client_has_it(self):
        self.program(f"test $1 = 0 && test $2 = GPU-fake-0 && : > {self.memory}")
        self.start("--gpu-scrub", str(self.scrub))
        self.run_job(self.eve, "acme", self.leave, "--gpus", "1")
        self.assertEqual(self.run_job(self.eve, "acme", self.read, "--gpus", "1"), "a-secret\nread\n", "the same client's next job")
        self.assertEqual(self.run_job(self.zoe, "zoo", self.read, "--gpus", "1"), "read\n")

    def test_without_a_scrub_that_worked_it_is_held_back(self):
        self.program(": ok")
        self.start("--gpu-scrub", str(self.scrub))
        self.run_job(self.eve, "acme", self.leave, "--gpus", "1")
        self.program("echo the device is busy >&2; exit 3")
        job = self.submit(self.zoe, "zoo", self.read, "--gpus", "1")
        self.comes_true(lambda: "the device is busy" in (self.gpu()["held_back"] or ""))
        why = self.daemon.stint("why", job).stdout
        self.assertIn("its memory was not scrubbed, and another client had it", " ".join(why.split()))
        self.assertIsNone(self.daemon.ask("GET", "/v1/gpus", token=self.zoe)["gpus"][0]["held_back"], "an operator's to see")
        self.comes_true(lambda: any(alert["rule"] == "GpuHeldBack" for alert in self.daemon.ask("GET", "/v1/alerts")["alerts"]))
        self.program(f": > {self.memory}")
        self.wait(job)
        self.assertEqual(self.logs(job, self.zoe), "read\n")
        self.assertIsNone(self.gpu()["held_back"])

    def test_a_process_that_stays_keeps_others_from_it(self):
        self.start()
        self.run_job(self.eve, "acme", self.leave, "--gpus", "1")
        self.pids.write_text(f"{os.getpid()}\n")
        job = self.submit(self.zoe, "zoo", self.read, "--gpus", "1")
        self.comes_true(lambda: f"process {os.getpid()} still computes on it" in (self.gpu()["held_back"] or ""))
        self.assertNotIn(self.state_of(job), ("succeeded", "failed"))
        self.assertEqual(self.logs(job, self.zoe), "")
        self.pids.write_text("")
        self.assertEqual(self.wait(job)["state"], "succeeded")


if __name__ == "__main__":
    main(sys.modules[__name__])
