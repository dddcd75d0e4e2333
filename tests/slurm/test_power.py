#!/usr/bin/env python3
"""stint slurm resume and suspend as a real Slurm's own hooks: from zero and back, a limit, a machine that cannot be had; and a MIG plan's
lines as its configuration. The provider's machines are slurmd processes (tests/slurm/fake_provider).

Usage: test_power.py STINT. Skipped where Slurm or root is missing (scripts/setup installs the packages).
"""
import json
import os
import unittest

from running_cluster import STINT, RunningCluster


class Power(RunningCluster):
    NODES, CLOUD, ACCOUNTING = 1, 3, False

    @classmethod
    def lines(cls):
        return [*cls.power_lines({"nodes": "c[1-3]", "most": 1, "per_hour": "12"}), "SlurmdTimeout=15", "KillWait=1", "JobRequeue=1", "RequeueDelay=15", "TreeWidth=100",
                "PartitionName=main Nodes=n1 Default=YES State=UP", "PartitionName=cloud Nodes=c[1-3] State=UP"]

    def more(self):
        log = self.folder / "power.log"
        return (log.read_text() if log.exists() else "") + self.slurm.run("sinfo", "-N", "-o", "%N %T %E", check=False).stdout

    def machines(self):
        """Those that are there now."""
        return {path.name.removeprefix("machine-") for path in (self.folder / "slurm").glob("machine-*")}

    def ended(self, *files):
        return all((self.folder / f).exists() for f in files)

    def work(self, name):
        # Written when it ends, as often as it does.
        return self.submit(f"sleep 1; echo $SLURMD_NODENAME >> {self.folder}/{name}", "-p", "cloud", "-N1", "--gres=gpu:8",
                           "-t", "5", "--requeue")

    def test_machines_come_and_go(self):
        """Slurm starts a job within 30 s of its machine's coming: it looks that often."""
        self.assertEqual(self.machines(), set())
        # c1 cannot be had, and one machine at most may be on: the jobs run one after the other, elsewhere.
        (self.folder / "slurm" / "no-capacity").write_text("c1")
        for name in ["first", "second"]:
            self.work(name)
        self.wait("both have run", lambda: self.ended("first", "second"), seconds=300)
        ran_on = {(self.folder / name).read_text().strip() for name in ["first", "second"]}
        self.assertLessEqual(ran_on, {"c2", "c3"})
        self.wait("nothing is kept", lambda: not self.machines(), seconds=120)
        self.assertEqual(self.most_at_once(), 1)

    def test_a_mig_plan_is_configuration_that_slurm_loads(self):
        """The lines are what `stint change show` prints; only how GPUs are found (AutoDetect=nvml) is replaced by devices."""
        inventory, plan, history = (self.folder / f for f in ("inventory.csv", "plan.json", "fleet.db"))
        inventory.write_text("node,gpu_model,gpu_count,rate_per_hour\nn1,H200,8,32\n")
        seat = lambda gpu, profile, start: {"workload": f"w{gpu}{start}", "from": {"node": "n1", "gpu": gpu}, "to": {"node": "n1", "gpu": gpu},
                                            "share": 0.1, "mig_profile": profile, "memory_start": start}
        plan.write_text(json.dumps({"schema": "stint-changes/1", "currency": "USD", "proposals": [{"id": "S-1", "title": "cut", "changes": [
            {"kind": "share", "description": "cut", "mode": "mig", "nodes": ["n1"], "keep": ["n1"],
             "placements": [seat(0, "3g.71gb", 0), seat(0, "2g.35gb", 4), *(seat(1, "1g.18gb", i) for i in range(3))]}]}]}))
        self.stint("import", "inventory", inventory, "--history", history)
        told = {}
        for line in self.stint("change", "show", "1", plan, "--history", history).splitlines():
            if line.startswith("# ── "):
                at = told.setdefault(line.split("── ")[1].split(" ──")[0], [])
            elif line and not line.startswith("#"):
                at.append(line)
        self.assertEqual(told["Slurm, gres.conf (conf)"], ["NodeName=n1 AutoDetect=nvml"])
        self.load(told["Slurm, slurm.conf (conf)"], "n1")
        self.assertIn("Gres=gpu:1g.18gb:3,gpu:2g.35gb:1,gpu:3g.71gb:1", self.slurm.run("scontrol", "show", "node", "n1").stdout)
        out = self.folder / "cut"
        self.submit(f"echo $CUDA_VISIBLE_DEVICES > {out}.1; sleep 2", "-p", "mig", "--gres=gpu:1g.18gb:2", "-t", "5")
        self.submit(f"echo $CUDA_VISIBLE_DEVICES > {out}.2", "-p", "mig", "--gres=gpu:3g.71gb:1", "-t", "5")
        self.wait("both have slices", lambda: self.ended("cut.1", "cut.2") and (self.folder / "cut.2").read_text())
        self.assertEqual(len((self.folder / "cut.1").read_text().split(",")), 2)

    def stint(self, *arguments):
        done = self.slurm.run(os.path.abspath(STINT), *map(str, arguments), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def load(self, lines, node):
        """Into slurm.conf and gres.conf, as an operator does, and both daemons again."""
        conf = self.slurm.conf.read_text().splitlines()
        gres = (self.slurm.folder / "gres.conf").read_text().splitlines()
        for line in lines:
            key, name = line.split()[0].split("=")
            if key == "GresTypes":
                continue  # gpu is there
            if key != "NodeName":
                conf.insert(0, line)
                continue
            at = next(i for i, known in enumerate(conf) if known.startswith(f"NodeName={name} "))
            own = line.split()[1]
            conf[at] = " ".join(own if word.startswith("Gres=") else word for word in conf[at].split())
            device = 0
            for entry in own.removeprefix("Gres=").split(","):
                _, profile, count = entry.split(":")
                for _ in range(int(count)):
                    gres.append(f"NodeName={name} Name=gpu Type={profile} File={self.slurm.folder}/dev/gpu{device}")
                    device += 1
        gres = [f"NodeName=c[1-3] {line}" if line.startswith("Name=gpu") else line for line in gres]
        for daemon in ["slurmctld", f"slurmd-{node}"]:
            self.slurm.kill(daemon)
        self.slurm.conf.write_text("\n".join(conf) + "\n")
        (self.slurm.folder / "gres.conf").write_text("\n".join(gres) + "\n")
        for daemon in ["slurmctld", f"slurmd-{node}"]:
            self.slurm.start_again(daemon)
        self.wait("the machine is back", lambda: self.slurm.run("sinfo", "-h", "-n", node, "-o", "%t", check=False).stdout.split()[:1] == ["idle"])

    def most_at_once(self):
        on, most = set(), 0
        for line in (self.folder / "slurm" / "machines").read_text().splitlines():
            _, verb, name = line.split()
            on = on | {name} if verb == "start" else on - {name}
            most = max(most, len(on))
        return most


if __name__ == "__main__":
    unittest.main(verbosity=2)
