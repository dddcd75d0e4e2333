#!/usr/bin/env python3
"""stint slurm advise on a real Slurm that places its jobs itself: pasted into a shell, what it prints makes Slurm start them in the
order it said, hold what an account cannot pay, and keep jobs off machines.

Usage: test_advise.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import json
import subprocess
import unittest

from running_cluster import STINT, RunningCluster


class Advise(RunningCluster):
    # What Slurm reckons by itself: the QOS and the age.
    LINES = ["PriorityType=priority/multifactor", "PriorityWeightQOS=1000", "PriorityWeightAge=1000", "KillWait=1"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for account in ["acme", "zoo", "pear", "plum", "poor", "ops"]:
            cls.slurm.run("sacctmgr", "-i", "add", "account", account)
            cls.slurm.run("sacctmgr", "-i", "add", "user", "root", f"account={account}")
        cls.slurm.run("sacctmgr", "-i", "add", "qos", "urgent")
        cls.slurm.run("sacctmgr", "-i", "modify", "user", "root", "set", "qos=normal,urgent")

    def tearDown(self):
        self.slurm.run("scancel", "--user=root", check=False)
        self.wait("the queue is empty", lambda: not self.slurm.run("squeue", "-h", check=False).stdout)

    def policy(self, **more):
        path = self.folder / "policy.json"
        path.write_text(json.dumps({"policy": "stint", "nodes": [{"name": "n[1-4]", "per_hour": "3600"}], **more}))
        return "--policy-file", path

    def advise(self, *arguments):
        done = subprocess.run([STINT, "slurm", "advise", *map(str, arguments)], env=self.slurm.environment(), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def paste(self, text):
        """Every command has to be one that Slurm follows."""
        done = subprocess.run(["sh", "-e", "-c", text], env=self.slurm.environment(), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")

    @staticmethod
    def commands(text):
        return [line for line in text.splitlines() if line and not line.startswith("#")]

    def job(self, job):
        return dict(word.split("=", 1) for word in self.slurm.run("scontrol", "-o", "show", "job", job).stdout.split() if "=" in word)

    def fill(self):
        """All machines are taken until this job is stopped."""
        job = self.submit("sleep 600", "-A", "ops", f"-N{self.NODES}", "--gres=gpu:8", "-t", "20")
        self.wait("the machines are taken", lambda: self.job(job)["JobState"] == "RUNNING")
        return job

    def start_in_order(self, means, first, second):
        """Each job takes all machines, so that they run one after the other; the first account has submitted all of its own before."""
        file = self.folder / means
        blocker = self.fill()
        submit = lambda account, *more: self.submit(f"echo $SLURM_JOB_ID >> {file}; sleep 1", "-A", account, f"-N{self.NODES}", "--gres=gpu:8", "-t", "5", *more)
        a = [submit(first) for _ in range(3)] + [submit(first, "--array=1-2%1")]
        b = [submit(second) for _ in range(2)] + [submit(second, "--qos=urgent", "--nice=5000")]
        after = submit(second, f"--dependency=afterany:{blocker}:{b[2]}")
        told = self.advise("--as", means, "--qos", "urgent=100")
        # The accounts take turns, the older first; the urgent job is the first of its own.
        in_turn = [a[0], b[2], a[1], b[0], a[2], b[1], a[3]]
        self.assertNotIn(f"JobId={after} ", told)
        self.paste(told)
        self.assertEqual(self.commands(self.advise("--as", means, "--qos", "urgent=100")), [], "told once")
        line = self.slurm.run("squeue", "-h", "-t", "PENDING", "-S", "-p", "-o", "%F").stdout.split()
        self.assertEqual([job for job in line if job != after], in_turn)
        self.slurm.run("scancel", blocker)
        self.wait("all have run", lambda: file.exists() and len(file.read_text().split()) == 9, seconds=120)
        ran = [job for job in file.read_text().split() if job != after]
        self.assertEqual(ran[:6], in_turn[:6])
        return told

    def test_by_nice_slurm_starts_them_in_turn(self):
        self.assertIn(" Nice=", self.start_in_order("nice", "acme", "zoo"))

    def test_by_priorities_slurm_starts_them_in_turn(self):
        self.assertIn(" Priority=", self.start_in_order("priorities", "pear", "plum"))

    def test_who_cannot_pay_is_held_and_let_go(self):
        spent = self.submit("sleep 2", "-A", "poor", "-N1", "--gres=gpu:8", "-t", "5")
        self.wait("accounting knows what it has cost", lambda: "COMPLETED" in self.slurm.run("sacct", "-n", "-X", "-o", "state", "-j", spent).stdout)
        blocker = self.fill()
        job = self.submit("true", "-A", "poor", "-N1", "--gres=gpu:1", "-t", "5")
        budget = lambda amount: self.policy(queues=[{"name": "poor", "budget": amount}])
        told = self.advise(*budget("0.5"))
        self.assertEqual(self.commands(told), [f"scontrol hold {job}", f"scontrol update JobId={job} AdminComment=stint/unpaid"])
        self.paste(told)
        self.assertEqual(self.job(job)["Reason"], "JobHeldAdmin")
        self.assertEqual(self.commands(self.advise(*budget("0.5"))), [])
        told = self.advise(*budget("50000"))
        self.assertIn(f"# release {job}: account poor has money again", told)
        self.paste(told)
        self.slurm.run("scancel", blocker)
        self.wait("it has run", lambda: self.job(job)["JobState"] == "COMPLETED")

    def test_changes_are_told_and_jobs_kept_off_what_they_make(self):
        """Machines become spot by the commands of a change; then a job that must not be lost is kept off them."""
        plan = self.folder / "plan.json"
        switch = lambda to, nodes: {"kind": "switch-market", "description": "", "nodes": nodes, "to_market": to}
        plan.write_text(json.dumps({"schema": "stint-changes/1", "currency": "USD", "proposals": [
            {"id": "S-1", "title": "two on spot", "changes": [switch("spot", ["n1", "n2"]), switch("on-demand", ["n3", "n4"])]}]}))
        told = self.advise("--changes", plan)
        self.assertIn("# change two on spot", told)
        self.paste(told)
        blocker = self.fill()
        job = self.submit("true", "-A", "acme", "-N1", "--gres=gpu:1", "-t", "5", "--no-requeue")
        other = self.submit("true", "-A", "acme", "-N1", "--gres=gpu:1", "-t", "5", "--requeue")
        told = self.advise("--as", "nice")
        self.assertEqual(self.commands(told), [f"scontrol update JobId={job} Features=on-demand"])
        self.paste(told)
        self.assertEqual(self.commands(self.advise("--as", "nice")), [])
        self.slurm.run("scancel", blocker)
        self.wait("both have run", lambda: all(self.job(j)["JobState"] == "COMPLETED" for j in (job, other)))
        self.assertIn(self.job(job)["NodeList"], ("n3", "n4"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
