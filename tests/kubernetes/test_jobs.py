#!/usr/bin/env python3
"""stint submit to a daemon whose engine is a real Kubernetes: Jobs are made, placed, ended and found again, also when the daemon is killed.

Usage: test_jobs.py STINT. Skipped where scripts/setup-kubernetes finds no programs.
"""
import http.server
import json
import pathlib
import ssl
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from running_daemon import Certificate, RunningDaemon  # noqa: E402
from running_kubernetes import STINT, RunningKubernetes  # noqa: E402

JOBS = "/apis/batch/v1/namespaces/{}/jobs"
PODS = "/api/v1/namespaces/{}/pods"
QUEUES = [{"name": "acme"}, {"name": "zoo"}, {"name": "rest"}]
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/stint-jobs-made"


class FakeKubelet:
    """Has of each container the text that `logs` holds by the pod's name. KWOK's machines have none of their own."""

    def __init__(self, folder):
        self.logs = {}
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                parts = self.path.partition("?")[0].split("/")  # /containerLogs/NAMESPACE/POD/CONTAINER
                text = kubelet.logs.get(parts[3]) if parts[1] == "containerLogs" and parts[4:] == ["main"] else None
                self.send_response(200 if text is not None else 404)
                self.end_headers()
                self.wfile.write(text or b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        certificate = Certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Jobs(RunningKubernetes):
    MACHINES = {"count": 4, "gpus": 8}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("scheduler-rbac", "jobs-rbac"):
            cls.cluster.kubectl("apply", "-f", ROOT / f"examples/kubernetes/{name}.yaml")
        cls.cluster.kubectl("create", "namespace", "team-zoo")
        cls.cluster.kubectl("label", "namespace", "team-zoo", "pod-security.kubernetes.io/enforce=restricted")
        cls.cluster.kubectl("-n", "team-zoo", "create", "rolebinding", "stint-jobs-made", "--clusterrole=stint-jobs-made",
                            "--serviceaccount=stint:stint-scheduler")
        cls.cluster.wait("their accounts", lambda: all(cls.cluster.get(f"/api/v1/namespaces/{n}/serviceaccounts/default")
                                                       for n in ("stint-jobs", "team-zoo")))
        access = json.loads(cls.cluster.kubeconfig.read_text())
        access["users"][0]["user"] = {"token": cls.cluster.kubectl("-n", "stint", "create", "token", "stint-scheduler").strip()}
        cls.kubeconfig = cls.folder / "scheduler.kubeconfig"
        cls.kubeconfig.write_text(json.dumps(access))
        cls.kubeconfig.chmod(0o600)
        cls.kubelet = FakeKubelet(cls.folder)
        cls.addClassCleanup(cls.kubelet.close)
        for i in range(4):
            cls.cluster.call("PATCH", f"/api/v1/nodes/gpu-{i}/status",
                             {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                                         "daemonEndpoints": {"kubeletEndpoint": {"Port": cls.kubelet.port}}}},
                             "application/merge-patch+json")

    def daemon(self, **jobs):
        engine = {"kubeconfig": str(self.kubeconfig), "queue": "rest", "every": "100ms", "lease_namespace": "stint", "lease_duration": "2s",
                  "jobs": {"namespace": "stint-jobs", "clients": {"zoo": "team-zoo"}, **jobs}}
        daemon = RunningDaemon(STINT, self.scratch, {"nodes": [{"name": "gpu-[0-3]", "per_hour": "16"}], "queues": QUEUES,
                                                     "engine": {"kubernetes": engine}}, simulate=False, flags=[])
        self.addCleanup(daemon.kill)
        return daemon

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait, "nothing is left", lambda: not self.jobs() and not self.pods())
        for name in ("stint-jobs", "team-zoo"):
            self.addCleanup(self.cluster.call, "DELETE", f"{PODS.format(name)}?gracePeriodSeconds=0")
            self.addCleanup(self.cluster.call, "DELETE", f"{JOBS.format(name)}?propagationPolicy=Background")

    def submit(self, daemon, *flags, queue="acme", image="example.com/train:1", command=("python", "train.py")):
        return daemon.stint("submit", "--queue", queue, "--image", image, *map(str, flags), "--", *command).stdout.strip()

    def jobs(self):
        return json.loads(self.cluster.get("/apis/batch/v1/jobs"))["items"]

    def jobs_of(self, job):
        return [j for j in self.jobs() if j["metadata"]["labels"].get("stint/job") == job]

    def pods(self):
        return json.loads(self.cluster.get("/api/v1/pods"))["items"]

    def pods_of(self, job):
        return sorted((p for p in self.pods() if p["metadata"]["labels"].get("stint/job") == job),
                      key=lambda p: int(p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))

    def running_pods_of(self, job):
        return [p for p in self.pods_of(job) if p["status"]["phase"] == "Running"]

    def end(self, pod, code, reason="Error"):
        """As its machine's kubelet would say it."""
        meta = pod["metadata"]
        at = "2026-09-01T00:00:00Z"
        self.cluster.call("PATCH", f"{PODS.format(meta['namespace'])}/{meta['name']}/status", {"status": {
            "phase": "Succeeded" if code == 0 else "Failed",
            "containerStatuses": [{"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {
                "terminated": {"exitCode": code, "reason": "Completed" if code == 0 else reason, "startedAt": at, "finishedAt": at}}}]}},
            "application/merge-patch+json")

    def show(self, daemon, job):
        return daemon.ask("GET", f"/v1/jobs/{job}")

    def state(self, daemon, job):
        return self.show(daemon, job)["state"]

    def why(self, daemon, job):
        return daemon.stint("why", job).stdout

    def test_jobs_run_and_their_ends_come_back(self):
        daemon = self.daemon()
        good = self.submit(daemon, "--gpus", 2, "--cpu-milli", 4000, "--memory", "64GiB", "--env", "EPOCHS=$(3)", "--time-limit", "1h", "--grace", "45s")
        bad = self.submit(daemon, "--gpus", 1)
        big = self.submit(daemon, "--gpus", 1)
        zoo = self.submit(daemon, "--gpus", 1, queue="zoo")
        self.wait("they run", lambda: all(self.running_pods_of(j) for j in (good, bad, big)))
        pod = self.pods_of(good)[0]
        spec = pod["spec"]
        self.assertEqual(spec["terminationGracePeriodSeconds"], 45)
        self.assertEqual(spec["containers"][0]["resources"]["requests"], {"cpu": "4", "memory": str(64 << 30), "nvidia.com/gpu": "2"})
        self.assertIn({"name": "EPOCHS", "value": "$$(3)"}, spec["containers"][0]["env"])
        self.assertEqual(pod["metadata"]["labels"]["stint/client"], "acme")
        self.wait("it is in the books", lambda: self.state(daemon, good) == "running")
        self.wait_for_why(daemon, zoo, 'violates PodSecurity "restricted')

        self.kubelet.logs[pod["metadata"]["name"]] = b"epoch 1\nepoch 2\n"
        self.assertEqual(daemon.stint("logs", good).stdout, "epoch 1\nepoch 2\n")
        self.assertIn("among its output", daemon.stint("logs", good, "--error", check=False).stderr)
        self.end(pod, 0)
        self.end(self.pods_of(bad)[0], 3)
        self.end(self.pods_of(big)[0], 137, "OOMKilled")
        self.wait("it succeeded", lambda: self.state(daemon, good) == "succeeded")
        self.wait("it failed", lambda: self.state(daemon, bad) == "failed" and self.state(daemon, big) == "failed")
        self.assertEqual(self.show(daemon, bad)["ends"][0]["exit_code"], 3)
        self.assertIn("OOMKilled", self.show(daemon, big)["ends"][0]["detail"])
        self.assertEqual(daemon.stint("logs", good).stdout, "epoch 1\nepoch 2\n", "it is kept as long as the Job")
        self.assertEqual([len(self.jobs_of(j)) for j in (good, bad, big)], [1, 1, 1])
        daemon.stint("cancel", zoo)
        self.wait("its Job goes", lambda: not self.jobs_of(zoo))

    def test_a_gang_is_one_job_with_ranks(self):
        daemon = self.daemon(restricted=True)
        job = self.submit(daemon, "--gpus", 8, "--tasks", 3, queue="zoo")
        self.wait("it runs", lambda: len(self.running_pods_of(job)) == 3)
        made, = self.jobs_of(job)
        self.assertEqual((made["metadata"]["namespace"], made["spec"]["completions"]), ("team-zoo", 3))
        pods = self.pods_of(job)
        self.assertEqual(len({p["spec"]["nodeName"] for p in pods}), 3)
        environment = {e["name"]: e.get("value") for e in pods[2]["spec"]["containers"][0]["env"]}
        name = made["metadata"]["name"]
        self.assertEqual((environment["WORLD_SIZE"], environment["MASTER_ADDR"]), ("3", f"{name}-0.{name}"))
        self.assertEqual((pods[0]["spec"]["hostname"], pods[0]["spec"]["subdomain"]), (f"{name}-0", name))
        service = json.loads(self.cluster.get(f"/api/v1/namespaces/team-zoo/services/{name}"))
        self.assertEqual(service["spec"]["clusterIP"], "None")
        for pod in pods[1:]:
            self.end(pod, 0)
        self.assertEqual(self.state(daemon, job), "running")
        self.end(pods[0], 0)
        self.wait("it succeeded", lambda: self.state(daemon, job) == "succeeded")
        self.assertEqual(len(self.jobs_of(job)), 1)

    def test_who_is_preempted_leaves_and_comes_back_as_another_job(self):
        daemon = self.daemon()
        low = [self.submit(daemon, "--gpus", 8) for _ in range(4)]
        self.wait("the machines are full", lambda: all(self.running_pods_of(j) for j in low))
        self.wait("and it is known", lambda: all(self.state(daemon, j) == "running" for j in low))
        first = {j: self.jobs_of(j)[0]["metadata"]["name"] for j in low}
        high = self.submit(daemon, "--gpus", 8, "--priority", 500)
        self.wait("it runs in place of one", lambda: self.running_pods_of(high))
        self.wait("who gave way waits", lambda: [self.state(daemon, j) for j in low].count("waiting") == 1)
        gave_way = next(j for j in low if self.state(daemon, j) == "waiting")
        self.wait("its Job is gone", lambda: not self.jobs_of(gave_way))
        daemon.stint("cancel", high)
        self.wait("it is back", lambda: self.running_pods_of(gave_way))
        self.assertNotEqual(self.jobs_of(gave_way)[0]["metadata"]["name"], first[gave_way])
        self.wait("the cancelled one is gone", lambda: not self.jobs_of(high))

    def test_what_others_delete_has_ended(self):
        daemon = self.daemon()
        jobs = [self.submit(daemon, "--gpus", 1) for _ in range(2)]
        self.wait("they run", lambda: all(self.running_pods_of(j) for j in jobs))
        self.wait("and it is known", lambda: all(self.state(daemon, j) == "running" for j in jobs))
        self.cluster.kubectl("-n", "stint-jobs", "delete", "job", self.jobs_of(jobs[0])[0]["metadata"]["name"])
        self.cluster.kubectl("-n", "stint-jobs", "delete", "pod", self.pods_of(jobs[1])[0]["metadata"]["name"])
        self.wait("they failed", lambda: all(self.state(daemon, j) == "failed" for j in jobs))
        for job in jobs:
            self.assertIn("was deleted", self.show(daemon, job)["ends"][0]["detail"])
        self.assertEqual(self.pods_of(jobs[1]), [], "Kubernetes makes no other pod")

    def test_killed_at_any_time_each_job_is_made_once(self):
        daemon = self.daemon()
        jobs = []
        for i in range(9):
            jobs.append(self.submit(daemon, "--gpus", 1, *(["--tasks", 2] if i % 3 == 0 else [])))
            if i % 2:
                daemon.kill()
                daemon.start()
        self.wait("all run", lambda: sum(len(self.running_pods_of(j)) for j in jobs) == 12)
        self.assertEqual([len(self.jobs_of(j)) for j in jobs], [1] * 9)
        before = {p["metadata"]["uid"] for p in self.pods()}
        daemon.kill()
        for pod in self.pods_of(jobs[1]):
            self.end(pod, 0)
        # What a kill leaves in the middle of a write.
        (daemon.state / "kubernetes/launches/4.0.vll1v4").touch()
        # One that the books do not know: it was made and is forgotten.
        mark = (daemon.state / "kubernetes/mark").read_text().strip()
        made = self.jobs_of(jobs[2])[0]
        stray = {"apiVersion": "batch/v1", "kind": "Job",
                 "metadata": {"name": "stray", "labels": {"stint/daemon": mark, "stint/job": "stray"},
                              "annotations": {"stint/attempt": f"{mark}:999.0", "stint/task-list": "0"}},
                 "spec": {**made["spec"], "selector": None, "template": {"metadata": {}, "spec": made["spec"]["template"]["spec"]}}}
        self.cluster.create(JOBS.format("stint-jobs"), stray)
        daemon.start()
        self.wait("what ended meanwhile is known", lambda: self.state(daemon, jobs[1]) == "succeeded")
        self.wait("the stray is gone", lambda: not self.jobs_of("stray"))
        self.wait("the others run in the books", lambda: all(self.state(daemon, j) == "running" for j in jobs if j != jobs[1]))
        self.assertEqual({p["metadata"]["uid"] for p in self.pods() if p["metadata"]["labels"].get("stint/job")}, before)
        for job in jobs:
            for pod in self.running_pods_of(job):
                self.end(pod, 0)
        self.wait("all have succeeded", lambda: all(self.state(daemon, j) == "succeeded" for j in jobs))
        self.wait("their files are gone", lambda: not list((daemon.state / "kubernetes/launches").iterdir()))

    def test_why_it_does_not_begin_is_said_and_ends_it(self):
        daemon = self.daemon(patience="5s")
        stuck = self.submit(daemon, "--gpus", 1, image="example.com/stuck:1")
        self.wait("it is bound", lambda: any(p["spec"].get("nodeName") for p in self.pods_of(stuck)))
        pod = self.pods_of(stuck)[0]
        waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        self.cluster.call("PATCH", f"{PODS.format('stint-jobs')}/{pod['metadata']['name']}/status", {"status": {"containerStatuses": [
            {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {"waiting": waiting}}]}},
            "application/merge-patch+json")
        self.wait_for_why(daemon, stuck, "ImagePullBackOff: no such image")
        self.wait("it fails", lambda: self.state(daemon, stuck) == "failed")
        self.assertIn("no such image", self.show(daemon, stuck)["ends"][0]["detail"])
        self.wait("nothing of it is left", lambda: not self.pods_of(stuck) and not self.jobs_of(stuck))

        self.cluster.create("/api/v1/namespaces/stint-jobs/resourcequotas", {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
        self.addCleanup(self.cluster.kubectl, "-n", "stint-jobs", "delete", "resourcequota", "none")
        self.wait("the quota counts", lambda: "hard" in json.loads(self.cluster.get("/api/v1/namespaces/stint-jobs/resourcequotas/none")).get("status", {}))
        late = self.submit(daemon, "--gpus", 1)
        self.wait_for_why(daemon, late, "exceeded quota")
        self.wait("it fails", lambda: self.state(daemon, late) == "failed")

    def test_what_a_pod_cannot_do_is_refused(self):
        daemon = self.daemon()
        for flags, word in ((["--gpus", "1"], "--image"), (["--image", "i", "--gpu-milli", "200"], "--gpus in place of"),
                            (["--image", "i", "--gpus", "1", "--output", "/tmp/x"], "stint logs")):
            done = daemon.stint("submit", "--queue", "acme", *flags, "--", "true", check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)
        self.assertEqual(daemon.ask("GET", "/v1/jobs")["jobs"], [])

    def test_each_right_that_is_missing_is_said(self):
        daemon = self.daemon()
        whole = json.loads(self.cluster.get(ROLE))["rules"]

        def allow(but=()):
            rules = [{**rule, "verbs": [v for v in rule["verbs"] if (r, v) not in but]} for rule in whole for r in rule["resources"]]
            self.cluster.call("PATCH", ROLE, {"rules": [rule for rule in rules if rule["verbs"]]}, "application/merge-patch+json")

        self.addCleanup(allow)
        allow(but=[("jobs", "create")])
        job = self.submit(daemon, "--gpus", 1)
        self.wait_for_why(daemon, job, 'cannot create resource "jobs"')
        allow(but=[("pods/log", "get")])
        self.wait("it runs once it may", lambda: self.running_pods_of(job))
        self.wait("the logs are refused", lambda: 'cannot get resource "pods/log"' in daemon.stint("logs", job, check=False).stderr)
        allow(but=[("services", "create")])
        gang = self.submit(daemon, "--gpus", 1, "--tasks", 2)
        self.wait_for_why(daemon, gang, 'cannot create resource "services"')
        allow(but=[("jobs", "delete")])
        self.wait("it runs once it may", lambda: len(self.running_pods_of(gang)) == 2)
        daemon.stint("cancel", job)
        self.wait("its pod goes", lambda: not self.pods_of(job))
        self.assertTrue(self.jobs_of(job))
        allow(but=[("events", "list")])
        self.wait("and its Job once it may", lambda: not self.jobs_of(job))
        zoo = self.submit(daemon, "--gpus", 1, queue="zoo")
        self.wait_for_why(daemon, zoo, 'cannot list resource "events"')

    def wait_for_why(self, daemon, job, word):
        self.wait(f"stint why says {word}", lambda: word in self.why(daemon, job))


if __name__ == "__main__":
    unittest.main(verbosity=2)
