#!/usr/bin/env python3
"""stint daemon over a real Slurm: what sbatch gives it and what stint submit does wait in one queue under one budget; the daemon is
killed in between, and nothing is lost or run twice.

Usage: test_daemon.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import re
import time
import unittest

from running_cluster import DaemonOverSlurm

CONFIG = {
    "nodes": [{"name": "n[1-2]", "per_hour": "16"}],
    "queues": [{"name": "acme"}, {"name": "zoo"}],
    "engine": {"slurm": {"accounts": {"lab": "acme"}, "every": "300ms", "patience": "20s", "users": {"*": "root"}}},
    "govern": {"budgets": [{"name": "zoo", "queue": "zoo", "per_month": "10"}]},
}


class Daemon(DaemonOverSlurm):
    LINES = ["KillWait=1", "SlurmdTimeout=15", "MinJobAge=60", "JobRequeue=1"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for account in ("lab", "acme", "zoo"):
            cls.slurm.run("sacctmgr", "-i", "add", "account", account)
            cls.slurm.run("sacctmgr", "-i", "add", "user", "root", f"account={account}")

    def setUp(self):
        self.start(CONFIG)

    def sbatch(self, script, *arguments):
        return self.submit(script, "--hold", "--account=lab", "-t", "5", *arguments)

    def stint_submit(self, *arguments):
        return self.daemon.stint("submit", "--queue", "acme", "--time-limit", "5m", *arguments).stdout.strip()

    def jobs(self):
        return self.daemon.ask("GET", "/v1/jobs?limit=500")["jobs"]

    def of_slurm(self, job):
        """As the daemon shows it; none: it does not know it."""
        return next((j for j in self.jobs() if j["tags"].get("stint.cluster-job") == job), None)

    def more(self):
        return self.daemon.log.read_text() + self.slurm.run("scontrol", "show", "job", check=False).stdout + str(self.jobs())

    def states(self, *jobs):
        return [self.daemon.ask("GET", f"/v1/jobs/{j}")["state"] for j in jobs]

    def test_sbatch_and_submit_are_one_queue(self):
        ours = [self.stint_submit("--gpus", "8", "--", "sleep", "12") for _ in range(2)]
        self.wait("both machines are used", lambda: self.states(*ours) == ["running"] * 2)
        theirs = self.sbatch("sleep 2", "--gres=gpu:8")
        self.wait("it is in the books", lambda: self.of_slurm(theirs))
        shown = self.of_slurm(theirs)
        self.assertEqual((shown["queue"], shown["user"], shown["state"]), ("acme", "root", "waiting"))
        self.assertIn("waiting", self.daemon.stint("why", shown["id"]).stdout)
        self.wait("it has run", lambda: self.of_slurm(theirs)["state"] == "succeeded")
        self.wait("they have, too", lambda: self.states(*ours) == ["succeeded"] * 2)
        self.assertGreater(float(self.daemon.ask("GET", f"/v1/jobs/{shown['id']}")["cost"]["amount"]), 0)

    def test_killed_in_between_nothing_is_lost_or_run_twice(self):
        ran = self.folder / "ran"
        ran.write_text("")
        theirs = [self.sbatch(f"echo sbatch-{i} >> {ran}; sleep 2", "--gres=gpu:4") for i in range(8)]
        ours = [self.stint_submit("--gpus", "4", "--", "sh", "-c", f"echo submit-{i} >> {ran}; sleep 2") for i in range(8)]
        for _ in range(6):
            time.sleep(1.5)
            self.daemon.kill()
            self.daemon.start()
        self.wait("all have ended", lambda: set(self.states(*ours)) == {"succeeded"} and
                  all((self.of_slurm(j) or {"state": ""})["state"] == "succeeded" for j in theirs), seconds=180)
        self.assertEqual(sorted(ran.read_text().split()), sorted([f"sbatch-{i}" for i in range(8)] + [f"submit-{i}" for i in range(8)]))

    def test_a_budget_holds_for_both(self):
        theirs = self.submit("sleep 1", "--hold", "--account=zoo", "--gres=gpu:8", "-t", "60")  # 16 at most; the budget has 10
        refused = self.daemon.stint("submit", "--queue", "zoo", "--gpus", "8", "--time-limit", "60m", "--", "true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.wait("it is said", lambda: any("budget" in e.get("detail", "") and f"job {theirs}:" in e.get("detail", "")
                                            for e in self.daemon.ask("GET", "/v1/events?limit=1000")["events"]))
        small = self.submit("sleep 1", "--hold", "--account=zoo", "--gres=gpu:8", "-t", "10")
        self.wait("what the budget has room for runs", lambda: (self.of_slurm(small) or {"state": ""})["state"] == "succeeded")
        self.assertIsNone(self.of_slurm(theirs))
        self.assertIn("JobHeldUser", self.slurm.run("squeue", "-h", "-j", theirs, "-o", "%r").stdout)

    def test_what_slurm_starts_by_itself_holds_room(self):
        own = [self.submit("sleep 6", "--account=lab", "--gres=gpu:8", "-t", "5", f"--nodelist=n{n}") for n in (1, 2)]
        self.wait("they are in the books", lambda: all((self.of_slurm(j) or {"state": ""})["state"] == "running" for j in own))
        waits = self.stint_submit("--gpus", "8", "--", "true")
        time.sleep(1)
        self.assertEqual(self.states(waits), ["waiting"])
        self.wait("it runs behind them", lambda: self.states(waits) == ["succeeded"])

    def test_its_machines_are_those_of_the_daemon_and_output_is_read(self):
        def node(name):
            return next(n for n in self.daemon.json("nodes")["nodes"] if n["name"] == name)
        self.assertEqual((node("n1")["gpus"], node("n1")["gpu_model"], node("n1")["per_hour"]["amount"]), (8, "h200", "16"))
        self.slurm.run("scontrol", "update", "nodename=n2", "state=drain", "reason=fan")
        self.addCleanup(self.slurm.run, "scontrol", "update", "nodename=n2", "state=resume", check=False)
        self.wait("it is drained here, too", lambda: node("n2")["state"] in ("draining", "drained"))
        self.assertIn("fan", str(node("n2")))
        jobs = [self.stint_submit("--gpus", "8", "--", "sh", "-c", "echo $STINT_NODE $CUDA_VISIBLE_DEVICES; sleep 1") for _ in range(2)]
        self.wait("they have run, one after another", lambda: self.states(*jobs) == ["succeeded"] * 2)
        self.assertEqual([self.daemon.stint("logs", j).stdout for j in jobs], ["n1 0,1,2,3,4,5,6,7\n"] * 2)
        self.slurm.run("scontrol", "update", "nodename=n2", "state=resume")
        self.wait("it is back", lambda: node("n2")["state"] == "up")

    def test_a_change_that_stops_a_machine_drains_it_in_slurm_too(self):
        state = lambda: re.search(r"State=(\S+)", self.slurm.run("scontrol", "show", "node", "n2", "-o").stdout)[1]
        history = str(self.folder / "changes.db")
        rows = self.folder / "nodes.csv"
        rows.write_text("node,provider,region,instance_type,market,gpu_model,gpu_count\nn1,,,,owned,H200,8\nn2,,,,on-demand,H200,8\n")
        self.daemon.stint("import", "inventory", str(rows), "--history", history)
        change = lambda *words: self.daemon.stint("change", *words, "--history", history).stdout
        self.assertIn("of Slurm's users neither", change("apply", "1", "stop:n2", "--dry-run"))
        self.assertEqual(state(), "IDLE", "a dry run changes nothing")
        change("apply", "1", "stop:n2", "--execute", "--force")
        self.wait("Slurm has drained it", lambda: "DRAIN" in state())
        # Nor does Slurm place what its users submit by themselves there.
        own = self.submit("sleep 1", "--account=lab", "--gres=gpu:8", "-t", "5", "--nodelist=n2")
        time.sleep(3)
        self.assertIn("PENDING", self.slurm.run("squeue", "-h", "-j", own, "-o", "%T").stdout)
        # Over a kill it stays so, and what is taken back is taken back there.
        self.daemon.kill()
        self.daemon.start()
        self.assertIn("DRAIN", state())
        self.assertEqual(self.daemon.ask("GET", "/v1/changes")["cluster"]["name"], "slurm")
        change("undo", "1", "--execute")
        self.wait("its job has run there", lambda: (self.of_slurm(own) or {"state": ""})["state"] == "succeeded")
        self.assertNotIn("DRAIN", state())
        # One that somebody else has drained stays so.
        self.slurm.run("scontrol", "update", "nodename=n2", "state=drain", "reason=fan")
        self.addCleanup(self.slurm.run, "scontrol", "update", "nodename=n2", "state=resume", check=False)
        time.sleep(5)
        self.assertIn("DRAIN", state())

    def test_cancelled_on_either_side_it_is_cancelled_on_both(self):
        running = self.sbatch("sleep 600", "--gres=gpu:8")
        self.wait("it runs", lambda: (self.of_slurm(running) or {"state": ""})["state"] == "running")
        self.daemon.stint("cancel", self.of_slurm(running)["id"])
        self.wait("Slurm has ended it", lambda: "CANCELLED" in self.slurm.run("sacct", "-X", "-n", "-j", running, "-o", "State").stdout)
        held = self.sbatch("true", "--gres=gpu:8", "--comment=stint:hold")
        self.wait("it is known", lambda: self.of_slurm(held))
        self.slurm.run("scancel", held)
        self.wait("it is cancelled", lambda: self.of_slurm(held)["state"] == "cancelled")
        mine = self.stint_submit("--gpus", "8", "--", "sleep", "600")
        self.wait("mine runs", lambda: self.states(mine) == ["running"])
        self.daemon.stint("cancel", mine)
        self.wait("it has left", lambda: self.states(mine) == ["cancelled"] and not self.slurm.run("squeue", "-h").stdout)

    def test_what_is_cancelled_while_the_daemon_is_away_is_cancelled_when_it_is_back(self):
        jobs = [self.sbatch("true", "--gres=gpu:8", "--comment=stint:hold") for _ in range(2)]
        self.wait("they are known", lambda: all(self.of_slurm(j) for j in jobs))
        self.daemon.kill()
        self.slurm.run("scancel", jobs[0])
        self.daemon.start()
        self.wait("it is cancelled", lambda: self.of_slurm(jobs[0])["state"] == "cancelled")
        self.assertEqual(self.of_slurm(jobs[1])["state"], "on-hold")


if __name__ == "__main__":
    unittest.main(verbosity=2)
