#!/usr/bin/env python3
"""The scheduler of a real API server's pods while things break: the server begins anew, refuses, loses answers and forgets; the daemon is
killed; disruption budgets forbid. Nothing is bound twice, no pod is lost, and the books say what the cluster says.

Usage: test_faults.py STINT [Faults.NAME]. Skipped where scripts/setup-kubernetes finds no programs. STINT_KUBERNETES_KILLS=200 kills the daemon
so often (about 15 minutes), and every 20th time the API server, every 40th etcd, too.
"""
import collections
import json
import os
import random
import time
import unittest

from faulty_proxy import FaultyProxy, status
from scheduled_pods import PODS, ScheduledPods

KILLS = int(os.environ.get("STINT_KUBERNETES_KILLS", "3"))
# Kills amid what a server does to its clients: in long runs, which somebody watches.
MIXED = "STINT_KUBERNETES_KILLS" in os.environ
API_EVERY, ETCD_EVERY = 20, 40
BUSY = ("answer", 429, {"Retry-After": "1"}, status(429, "TooManyRequests", "too many requests, please try again later"))


def binds(path, _):
    return path.endswith("/binding")


def binds_of(*pods):
    return lambda path, _: any(path.endswith(f"/pods/{pod}/binding") for pod in pods)


def watches_pods(path, parameters):
    return path == "/api/v1/pods" and "watch" in parameters


def is_of_the_lease(path, _):
    return "/leases" in path


class Faults(ScheduledPods):
    def behind_a_proxy(self, **more):
        proxy = FaultyProxy(self.cluster)
        self.addCleanup(proxy.close)
        access = json.loads(self.kubeconfig.read_text())
        access["clusters"][0]["cluster"]["server"] = proxy.url
        kubeconfig = self.scratch / "proxy.kubeconfig"
        kubeconfig.write_text(json.dumps(access))
        kubeconfig.chmod(0o600)
        return proxy, self.daemon(kubeconfig=kubeconfig, **more)

    def make_mixed(self, *numbers):
        """Of four pods two go together."""
        for i in numbers:
            self.make(f"p-{i}", 1, labels={"stint/gang": f"g-{i // 4}", "stint/gang-size": "2"} if i % 4 < 2 else None)

    def jobs(self, daemon, state):
        return daemon.ask("GET", f"/v1/jobs?limit=500&state={state}")["jobs"]

    def running(self):
        return {name: p["spec"]["nodeName"] for name, p in self.pods().items() if p["status"]["phase"] == "Running"}

    def check(self):
        """What must hold at every instant."""
        pods = self.pods()
        launches = collections.Counter(p["metadata"].get("annotations", {}).get("stint/launch") for p in pods.values() if p["spec"].get("nodeName"))
        self.assertEqual([launch for launch, times in launches.items() if times > 1], [], "one launch, two pods")
        held = collections.Counter(p["spec"]["nodeName"] for p in pods.values() if p["spec"].get("nodeName") and p["status"]["phase"] in ("Pending", "Running"))
        self.assertLessEqual(max(held.values(), default=0), 8, "more GPUs than the machine has")

    def agree(self, daemon, pods):
        """So many pods run, and the books have them where they are."""
        running = self.running()
        placed = collections.Counter(task["node"] for job in self.jobs(daemon, "running") for task in job["placed"])
        return len(running) == pods and placed == collections.Counter(running.values()) and not self.jobs(daemon, "waiting")

    def test_the_api_server_begins_anew(self):
        daemon = self.daemon()
        self.make_mixed(*range(8))
        self.cluster.kill("kube-apiserver")
        self.cluster.start_api()
        self.make_mixed(*range(8, 16))
        self.cluster.kill("kube-apiserver")
        self.cluster.kill("etcd")
        self.cluster.start_etcd()
        self.cluster.start_api()
        self.make_mixed(*range(16, 20))
        self.wait("all run, here and there", lambda: self.agree(daemon, 20), seconds=300)
        self.check()
        self.assertEqual(self.jobs(daemon, "failed") + self.jobs(daemon, "cancelled"), [])

    def test_the_server_refuses_loses_and_forgets(self):
        proxy, daemon = self.behind_a_proxy()
        faults = [proxy.harm(binds, BUSY, 3), proxy.harm(binds, ("lose",), 3), proxy.harm(binds, ("answer", 503, {}, b""), 2),
                  proxy.harm(watches_pods, ("cut", 3000), 2),
                  proxy.harm(watches_pods, ("event", json.dumps({"type": "ERROR", "object": json.loads(status(410, "Expired", "too old"))}).encode() + b"\n"))]
        self.make_mixed(*range(20))
        self.wait("all run, here and there", lambda: self.agree(daemon, 20))
        self.check()
        self.wait("all of it happened", lambda: not any(fault["left"] for fault in faults))
        self.wait("all run still", lambda: self.agree(daemon, 20))

    def killed_before_bound(self, *pods, meanwhile=lambda: None):
        """The daemon has decided, and is killed before the server has bound these of p-0 to p-3 (p-0 and p-1 go together)."""
        proxy, daemon = self.behind_a_proxy()
        asked = lambda pod: any(binds_of(pod)(path, parameters) for path, parameters in proxy.seen)
        refused = proxy.harm(binds_of(*pods), ("answer", 503, {}, b""), 1 << 30)
        self.make_mixed(*range(4))
        self.wait("all are asked for", lambda: all(asked(pod) for pod in pods) and len(self.nodes()) == 4 - len(pods))
        daemon.kill()
        meanwhile()
        refused["left"] = 0
        daemon.start()
        self.wait("all are bound", lambda: len(self.nodes()) == 4)
        self.wait("the books know", lambda: sum(j["tasks"] for state in ("running", "succeeded") for j in self.jobs(daemon, state)) == 4)
        self.assertEqual(sorted(j["tasks"] for j in daemon.ask("GET", "/v1/jobs?limit=500")["jobs"]), [1, 1, 2], "no job but those of the start")
        self.check()

    def test_killed_between_the_decision_and_the_binding(self):
        self.killed_before_bound("p-0", "p-1", "p-2", "p-3")

    def test_killed_between_the_bindings_of_a_gang(self):
        self.killed_before_bound("p-1")

    def test_killed_between_the_bindings_of_a_gang_whose_first_ends_meanwhile(self):
        def end_first():
            self.wait("it runs", lambda: "p-0" in self.running())
            self.cluster.kubectl("-n", "acme", "annotate", "pod", "p-0", "stint.test/ends=1")
            self.wait("it has ended", lambda: self.pods()["p-0"]["status"]["phase"] == "Succeeded")
        self.killed_before_bound("p-1", meanwhile=end_first)

    def test_a_binding_whose_outcome_cannot_be_asked_for_is_no_refusal(self):
        proxy, daemon = self.behind_a_proxy()
        proxy.harm(binds_of("p-1"), ("lose",), 1)
        asks = proxy.harm(lambda path, _: path.endswith("/pods/p-1"), ("answer", 401, {}, status(401, "Unauthorized", "not now")), 4)
        self.make_mixed(*range(4))
        self.wait("it was asked for, with new credentials too", lambda: asks["left"] <= 2)
        asks["left"] = 0
        self.wait("all run, here and there", lambda: self.agree(daemon, 4))
        time.sleep(3)  # what was refused would go
        self.assertEqual([name for name, p in self.pods().items() if p["metadata"].get("deletionTimestamp")], [])
        self.assertTrue(self.agree(daemon, 4))
        self.assertEqual(self.jobs(daemon, "failed") + self.jobs(daemon, "cancelled"), [])

    def trouble(self, draw, proxy):
        """One of what an API server does to its clients."""
        forgotten = json.dumps({"type": "ERROR", "object": json.loads(status(410, "Expired", "too old"))}).encode() + b"\n"
        when, what = draw.choice([(binds, BUSY), (binds, ("lose",)), (binds, ("answer", 503, {}, b"")), (watches_pods, ("cut", draw.randint(0, 5000))),
                                  (watches_pods, ("event", forgotten)), (watches_pods, ("answer", 410, {}, status(410, "Expired", "too old")))])
        proxy.harm(when, what, draw.randint(1, 3))

    def restart_server(self, kill):
        if kill % API_EVERY:
            return
        self.cluster.kill("kube-apiserver")
        if kill % ETCD_EVERY == 0:
            self.cluster.kill("etcd")
            self.cluster.start_etcd()
        self.cluster.start_api()

    def test_killed_at_random_instants(self):
        seed = int(os.environ.get("STINT_KUBERNETES_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}, {KILLS} kills", flush=True)
        draw = random.Random(seed)
        proxy, daemon = self.behind_a_proxy(lease="2s")
        made = 0
        for kill in range(1, KILLS + 1):
            # There has to be room for all that is made: a gang that waits for it is no fault.
            unfinished = [n for n, p in self.pods().items() if p["status"]["phase"] in ("Pending", "Running")]
            if len(unfinished) <= 16:
                self.make_mixed(*range(made, made + 4))
                made += 4
            else:
                for name in list(self.running())[:8]:
                    self.cluster.kubectl("-n", "acme", "annotate", "pod", name, "stint.test/ends=1")
            if MIXED:
                self.trouble(draw, proxy)
            time.sleep(draw.uniform(0, 5))  # the instant
            daemon.kill()
            self.restart_server(kill)
            self.check()
            daemon.start()
        for fault in proxy.faults:
            fault["left"] = 0
        self.wait("all are bound", lambda: len(self.nodes()) == made)
        self.wait("what runs is in the books", lambda: self.agree(daemon, len(self.running())))
        self.check()
        ended = made - len(self.running())
        self.wait("and what has ended", lambda: sum(j["tasks"] for j in self.jobs(daemon, "succeeded")) == ended)
        self.assertEqual(self.jobs(daemon, "failed") + self.jobs(daemon, "cancelled"), [])

    def test_a_disruption_budget_keeps_a_pod(self):
        daemon = self.daemon()
        for i in range(4):
            self.make(f"low-{i}", 8, labels={"stint/preemptible": "true", "app": "low"})
        self.wait("the machines are full", lambda: len(self.running()) == 4)
        budgets = "/apis/policy/v1/namespaces/acme/poddisruptionbudgets"
        self.cluster.create(budgets, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all-of-low"},
                                      "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "low"}}}})
        self.addCleanup(self.cluster.kubectl, "-n", "acme", "delete", "pdb", "all-of-low", "--ignore-not-found")
        self.wait("it is known", lambda: json.loads(self.cluster.get(f"{budgets}/all-of-low")).get("status", {}).get("currentHealthy") == 4)
        self.cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 400})
        self.addCleanup(self.cluster.kubectl, "delete", "priorityclass", "high")
        self.make("high", 8, priorityClassName="high")
        self.wait("it is said", lambda: any("all-of-low" in n and "low-" in n for n in self.notes(daemon)))
        self.assertEqual(len(self.running()), 4)
        self.assertNotIn("high", self.nodes())
        self.cluster.call("DELETE", f"{budgets}/all-of-low")
        self.wait("then one gives way", lambda: "high" in self.running())
        self.assertEqual(len([n for n in self.running() if n.startswith("low-")]), 3)

    def notes(self, daemon):
        return [e.get("detail", "") for e in daemon.ask("GET", "/v1/events?limit=500")["events"] if e["kind"] == "engine.note"]

    def waiting_pod(self, daemon):
        for i in range(4):
            self.make(f"full-{i}", 8)
        self.wait("the machines are full", lambda: len(self.nodes()) == 4)
        self.make("waits", 8)
        self.wait("it waits in the books", lambda: self.state(daemon, "waits") == "waiting")

    def test_deleted_while_the_daemon_is_away_it_is_cancelled(self):
        daemon = self.daemon()
        self.waiting_pod(daemon)
        daemon.kill()
        self.cluster.call("DELETE", f"{PODS.format('acme')}/waits")
        daemon.start()
        self.wait("it has ended in the books", lambda: self.state(daemon, "waits") == "cancelled")
        self.assertEqual([self.state(daemon, f"full-{i}") for i in range(4)], ["running"] * 4)

    def test_cancelled_while_the_lease_is_away_it_goes_when_it_is_back(self):
        proxy, daemon = self.behind_a_proxy()
        self.waiting_pod(daemon)
        refused = proxy.harm(is_of_the_lease, ("answer", 403, {}, status(403, "Forbidden", "not now")), 1 << 30)
        self.wait("it has no lease", lambda: any("nothing is placed" in n and "not now" in n for n in self.notes(daemon)))
        daemon.stint("cancel", self.job(daemon, "waits")["id"])
        self.wait("it has ended in the books", lambda: self.state(daemon, "waits") == "cancelled")
        self.assertIn("waits", self.pods(), "another may have the lease")
        refused["left"] = 0
        self.wait("it has ended in the cluster, too", lambda: "waits" not in self.pods())


if __name__ == "__main__":
    unittest.main(verbosity=2)
