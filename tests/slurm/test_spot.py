#!/usr/bin/env python3
"""A spot machine is taken away under a job that stint slurm drive has placed: the machine and all that ran on it is gone from one moment
to the next. Slurm runs the job again, drive places it elsewhere, it ends once, and the History tells of the interruption.

Usage: test_spot.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from running_cluster import STINT, RunningCluster


class Spot(RunningCluster):
    NODES, CLOUD = 1, 3

    @classmethod
    def lines(cls):
        return [*cls.power_lines({"nodes": "c[1-3]", "most": 2, "per_hour": "12"}),
                "SlurmdTimeout=10", "RequeueDelay=15", "KillWait=1", "JobRequeue=1", "MinJobAge=300", "TreeWidth=100",
                "PartitionName=main Nodes=n1 Default=YES State=UP", "PartitionName=cloud Nodes=c[1-3] State=UP"]

    def more(self):
        logs = [self.folder / "drive.log", self.folder / "power.log", self.slurm.folder / "machines", self.slurm.folder / "log" / "slurmctld.log"]
        return self.slurm.run("sinfo", "-N", "-o", "%N %T %E", check=False).stdout + "\n".join(log.read_text() for log in logs if log.exists())

    def test_a_job_whose_machine_is_taken_away_ends_once_elsewhere(self):
        log = open(self.folder / "drive.log", "a")
        driver = subprocess.Popen([STINT, "slurm", "drive", "--interval", "300ms", "--partition", "cloud"], env=self.slurm.environment(),
                                  stdout=log, stderr=log)
        log.close()
        self.addCleanup(driver.wait)
        self.addCleanup(driver.terminate)
        script = f"echo begin $SLURMD_NODENAME $PPID $$ >> {self.folder}/$SLURM_JOB_NAME; sleep $1; echo end >> {self.folder}/$SLURM_JOB_NAME"
        submit = lambda name, seconds: self.submit(script.replace("$1", str(seconds)), "--hold", "-J", name, "-p", "cloud", "-N1", "--gres=gpu:8",
                                                   "-t", "10", "--requeue")
        unlucky, other = submit("unlucky", 25), submit("other", 60)
        machines = []
        for times in (1, 2):  # as many machines as may be are on
            self.wait("it has begun", lambda: len(self.begins("unlucky")) == times, seconds=120)
            machine, *processes = self.begins("unlucky")[-1]
            machines.append(machine)
            self.take_away(machine, *processes)
            gone = time.monotonic()
        self.wait("it has ended", lambda: self.ends("unlucky"), seconds=150)
        print(f"ended {time.monotonic() - gone:.0f} s after its second machine was taken away")
        self.wait("so has the other", lambda: self.ends("other"))
        machines.append(self.begins("unlucky")[-1][0])
        self.assertEqual((len(self.begins("unlucky")), self.ends("unlucky")), (3, 1))
        self.assertNotEqual(machines[0], machines[1])
        self.assertEqual((len(self.begins("other")), self.ends("other")), (1, 1), "whose machine stayed runs once")
        self.check_history({unlucky: machines, other: [self.begins("other")[0][0]]})

    def said(self, name):
        at = self.folder / name
        return [line.split() for line in at.read_text().splitlines()] if at.exists() else []

    def begins(self, name):
        """(machine, keeper, shell) each time."""
        return [line[1:] for line in self.said(name) if line[0] == "begin"]

    def ends(self, name):
        return self.said(name).count(["end"])

    def check_history(self, machines_of):
        """Each interruption is a run that ended with its machine."""
        jobs = ",".join(machines_of)
        self.wait("accounting knows", lambda: self.slurm.run("sacct", "-n", "-X", "-o", "state", "-j", jobs).stdout.split() == ["COMPLETED"] * 2)
        history = self.folder / "fleet.db"
        done = subprocess.run([STINT, "import", "slurm", "--history", history], env=self.slurm.environment(), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for job, machines in machines_of.items():
            # A machine that Slurm gave the job and lost before anything began there is a separate run.
            rows = sqlite3.connect(history).execute("select restart, state, allocations from run where run_id = ? order by restart", (job,)).fetchall()
            states = ["node-fail"] * (len(rows) - 1) + ["completed"]
            self.assertEqual([row[:2] for row in rows], list(enumerate(states)))
            left = iter([json.loads(row[2])[0]["node"] for row in rows])
            self.assertTrue(all(machine in left for machine in machines), f"{machines} in this order among {rows}")

    def take_away(self, machine, *jobs):
        """Its slurmd and its jobs' keepers die without a word, as the power goes."""
        at = self.slurm.folder / f"machine-{machine}"
        slurmd = at.read_text()
        for pid in (slurmd, *jobs):
            os.kill(int(pid), signal.SIGKILL)
        at.unlink()
        pids = self.slurm.folder / "pids"
        pids.write_text("".join(line for line in pids.read_text().splitlines(True) if line != f"slurmd-{machine} {slurmd}\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
