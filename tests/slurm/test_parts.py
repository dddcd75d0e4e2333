#!/usr/bin/env python3
"""stint daemon over a real Slurm that gives out parts of GPUs: shards on one machine, MIG devices on the other.

Usage: test_parts.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import unittest

from running_cluster import DaemonOverSlurm

CONFIG = {
    "nodes": [{"name": "n1", "per_hour": "16"}, {"name": "n2", "per_hour": "8", "gpu_model": "H200", "gpus": 1}],
    "queues": [{"name": "acme"}, {"name": "zoo"}],
    "engine": {"slurm": {"accounts": {"lab": "acme"}, "every": "300ms", "patience": "20s", "users": {"*": "root"}}},
    "govern": {"share_across_clients": True},
}


class Parts(DaemonOverSlurm):
    ACCOUNTING = False
    LINES = ["KillWait=1", "MinJobAge=60"]
    CUT = {"n1": ("gpu:h200:2,shard:h200:8", {"h200": 2}), "n2": ("gpu:1g.18gb:4,gpu:3g.71gb:1", {"1g.18gb": 4, "3g.71gb": 1})}

    def more(self):
        return self.daemon.log.read_text() + self.slurm.run("scontrol", "show", "job", check=False).stdout

    def stint_submit(self, *arguments, check=True):
        return self.daemon.stint("submit", "--queue", "acme", "--time-limit", "5m", *arguments, "--", "sleep", "600", check=check)

    def job(self, job):
        return self.daemon.ask("GET", f"/v1/jobs/{job}")

    def runs(self, *jobs):
        self.wait("they run", lambda: all(self.job(j)["state"] == "running" and j in self.asked() for j in jobs))

    def asked(self):
        """The gres of each job that runs in Slurm, by its id here."""
        lines = self.slurm.run("squeue", "-h", "-t", "R", "-o", "%j|%b|%N").stdout.split()
        names = {f"acme-{line.split('|')[0].split('-')[1].split('.')[0]}": line.split("|")[1:] for line in lines if line.startswith("stint-")}
        return names

    def test_shards_and_mig_devices_of_both_ways_in(self):
        self.start(CONFIG)
        parts = [self.stint_submit("--gpu-milli", "400").stdout.strip() for _ in range(3)]
        mig = self.stint_submit("--mig", "2x1g.18gb 3g.71gb").stdout.strip()
        self.runs(*parts, mig)
        self.assertEqual([self.asked()[p] for p in parts], [["gres:shard:2", "n1"]] * 3)
        self.assertEqual(self.asked()[mig], ["gres:gpu:1g.18gb:2,gres:gpu:3g.71gb:1", "n2"])
        self.assertEqual([self.job(p)["placed"][0]["gpu_milli"] for p in parts], [500] * 3)
        # Two of eight shards, and two of four devices, are left; users of sbatch come to the same queue.
        held = [self.submit("sleep 600", "--hold", "--account=lab", "-t", "5", f"--gres={gres}") for gres in ("shard:1", "gpu:1g.18gb:2")]
        others = lambda: {j["tags"].get("stint.cluster-job"): j for j in self.daemon.ask("GET", "/v1/jobs?limit=500")["jobs"]}
        self.wait("they run", lambda: all((others().get(j) or {"state": ""})["state"] == "running" for j in held))
        self.assertEqual(others()[held[1]]["gpu_part"], "MIG 2x1g.18gb")
        waits = self.stint_submit("--gpu-milli", "500").stdout.strip()
        self.wait("it waits", lambda: self.job(waits)["state"] == "waiting")
        self.assertIn("waiting", self.daemon.stint("why", waits).stdout)
        self.daemon.stint("cancel", parts[0])
        self.runs(waits)

    def test_what_slurm_cannot_hold_is_refused_with_what_works(self):
        self.start({**CONFIG, "govern": {}})
        refused = self.stint_submit("--gpu-milli", "250", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("ask for a MIG device (--mig), a whole GPU, or have the operator allow", refused.stderr)
        absent = self.stint_submit("--mig", "7g.141gb").stdout.strip()  # a machine that has one may come
        self.wait("it waits", lambda: "no machine is of the kind it asks for" in self.daemon.stint("why", absent).stdout)
        held = self.submit("true", "--hold", "--account=lab", "-t", "5", "--gres=shard:1")
        self.wait("it is said", lambda: any(f"job {held}:" in e.get("detail", "") and "MIG device" in e["detail"]
                                            for e in self.daemon.ask("GET", "/v1/events?limit=1000")["events"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
