#!/usr/bin/env python3
"""Somebody has taken over the process that listens on the network: what they can ask the privileged starter for, and what they cannot.

Usage: test_starter.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys

from split_daemon import CLIENT, PATIENCE, RANGE, Split, until
from tenants import Attack, main, needs_root

@needs_root
class ADaemonWithoutRights(Split, Attack):
    """The same as one that is root, in two processes, and either may die."""

    def test_jobs_run_apart_and_outlive_both_processes(self):
        self.start()
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        self.assertEqual(re.search(r"CapEff:\s*(\w+)", status)[1], "0" * 16, "it can do nothing that its account may not")
        self.assertEqual(os.stat(f"/proc/{self.daemon.process.pid}").st_uid, CLIENT)
        # Where jobs see it: their /tmp is private.
        signals = pathlib.Path(subprocess.run(["mktemp", "-d", "-p", "/var/lib"], capture_output=True, text=True, check=True).stdout.strip())
        self.addCleanup(subprocess.run, ["rm", "-rf", signals], check=False)
        signals.chmod(0o755)
        ann, eve = self.token_of("ann", "submitter@acme"), self.token_of("eve", "submitter@zoo")

        def script(name):
            return f"id -u; while [ ! -e {signals}/{name} ]; do sleep 0.05; done; echo over-{name}; exit 4"
        one, two = self.submit(ann, "acme", script("ann")), self.submit(eve, "zoo", script("eve"))
        for job in (one, two):
            self.wait(job, "running", seconds=PATIENCE)
        uids = [int(until(lambda j=job: self.logs(j).strip())) for job in (one, two)]
        self.assertTrue(all(61200 <= uid <= 61209 for uid in uids) and uids[0] != uids[1], uids)
        # Isolation holds: the one does not read the other's folder, nor the daemon's state.
        printed = self.run_job(eve, "zoo", f"cat {self.daemon.state}/admin.token {self.daemon.work}/logs/*; ls {self.daemon.work}/tasks; id -G")
        self.assertNotIn(self.daemon.token, printed)
        self.assertNotIn("over", printed)

        self.daemon.kill_starter()
        self.assertEqual(self.state_of(one), "running", "what runs goes on")
        (signals / "ann").touch()  # it ends while nobody watches
        self.daemon.start_starter()
        shown = self.wait(one, seconds=PATIENCE)
        self.assertEqual(shown["state"], "failed", shown)
        self.assertTrue(any(end.get("exit_code") == 4 for end in shown["ends"]), shown)
        self.assertIn("over-ann", self.logs(one))

        self.daemon.kill()
        (signals / "eve").touch()
        self.daemon.start()
        shown = self.wait(two, seconds=PATIENCE)
        self.assertEqual(shown["state"], "failed", shown)
        self.assertIn("over-eve", self.logs(two))
        self.assertEqual(self.logs(two).count("over-eve"), 1, "it ran once")
        self.assertNotIn("refused", self.daemon.starter_log.read_text())

        # Both at once, while a job runs; a stop order finds it afterwards.
        four = self.submit(ann, "acme", "sleep 1000")
        self.wait(four, "running", seconds=PATIENCE)
        self.daemon.kill_starter()
        self.daemon.kill()
        self.daemon.start_starter()
        self.daemon.start()
        self.assertEqual(self.wait(four, "running", seconds=PATIENCE)["state"], "running")
        self.daemon.stint("cancel", four)
        self.assertEqual(self.wait(four, seconds=PATIENCE)["state"], "cancelled")

    def test_jobs_do_not_get_the_daemons_account(self):
        done = subprocess.run([self.STINT, "starter", "--state", self.folder / "work", "--socket", self.folder / "s", "--client", "61205",
                               "--jobs-as-range", RANGE], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could read the daemon's tokens", done.stderr)
        for client in ("root", "0"):
            done = subprocess.run([self.STINT, "starter", "--state", self.folder / "work", "--socket", self.folder / "s", "--client", client,
                                   "--jobs-as-range", RANGE], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, client)

    def test_a_folder_that_others_can_exchange_is_refused(self):
        exchanged = self.folder / "others"
        exchanged.mkdir()
        os.chown(exchanged, CLIENT, CLIENT)
        self.folder.chmod(0o711)
        for state in (exchanged, exchanged / "work"):
            done = subprocess.run([self.STINT, "starter", "--state", state, "--socket", self.folder / "s", "--client", str(CLIENT),
                                   "--jobs-as-range", RANGE], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("must be a folder of root's", done.stderr)


# The attacker: any program with the network process's account.
CLIENT_PROGRAM = r"""
import json, socket, struct, sys
path, requests = sys.argv[1], json.loads(sys.stdin.read())
answers = []
one = socket.socket(socket.AF_UNIX)
one.settimeout(60)
try:
    one.connect(path)
    for request in requests:
        text = request.encode() if isinstance(request, str) else json.dumps(request).encode()
        one.sendall(struct.pack(">II", len(text), 0) + text)
        head = b""
        while len(head) < 8:
            piece = one.recv(8 - len(head))
            if not piece: raise EOFError
            head += piece
        length, tail = struct.unpack(">II", head)
        body = b""
        while len(body) < length + tail:
            piece = one.recv(length + tail - len(body))
            if not piece: raise EOFError
            body += piece
        answers.append(body[:length].decode())
except (OSError, EOFError) as gone:
    answers.append("closed: " + str(gone))
print(json.dumps(answers))
"""
ORDERS = {"do": "hello", "version": 1, "role": "orders"}
QUESTIONS = {"do": "hello", "version": 1, "role": "questions"}


@needs_root
class ATakenOverDaemon(Split, Attack):
    def setUp(self):
        super().setUp()
        self.start("--gpus", "0-1")
        self.token_of("ann", "submitter@acme")
        self.daemon.kill()  # whoever has its rights speaks in its place

    def ask(self, *requests, user=CLIENT):
        done = subprocess.run(["/usr/bin/python3", "-c", CLIENT_PROGRAM, str(self.daemon.socket)], input=json.dumps(requests), capture_output=True,
                              text=True, timeout=120, check=True, user=user, group=user, extra_groups=[CLIENT] if user != CLIENT else [])
        return json.loads(done.stdout)

    def launch(self, **changed):
        return {"node": "here", "gpus": [], "gpu_milli": 0, "shares_gpus": False, "cpu_milli": 100, "memory_bytes": 0, "memory_share_bytes": 0,
                "command": ["sh", "-c", "id -u; id -G"], "script": "", "environment": [], "folder": "", "output_path": "",
                "error_path": "", "owner": "acme/ann", "gang": None, "time_limit_ns": 0, "grace_ns": 0, **changed}

    def order(self, key, **changed):
        return {"do": "orders", "orders": [{"order": "start", "key": key, "at_ns": 1, "launch": self.launch(**changed)}]}

    def test_gets_a_job_under_an_account_of_the_range_and_no_more(self):
        """What it may do: it is the scheduler."""
        self.assertIn("done", self.ask(ORDERS, self.order("900.0.0"))[-1])
        log = self.daemon.work / "logs/900.0.0.out"
        uid, groups = until(lambda: log.exists() and len(log.read_text().splitlines()) == 2 and log.read_text().splitlines())
        self.assertTrue(61200 <= int(uid) <= 61209, uid)
        self.assertEqual(groups, uid)

    def test_is_refused_what_would_make_it_root_and_that_is_said(self):
        bad = {"run_as": {"uid": 0, "gid": 0}, "cgroup": "/sys/fs/cgroup/system.slice/ssh.service", "log_base": "/etc/cron.d/x",
               "room": {"home": "/root", "temporary": "/etc"}, "more_devices": ["sda", "mem"], "device_group": "/sys/fs/cgroup/devices"}
        for number, (field, value) in enumerate(bad.items()):
            with self.subTest(field):
                answer = self.ask(ORDERS, self.order(f"{910 + number}.0.0", **{field: value}))[-1]
                self.assertIn(f"field '{field}' may not be asked for", answer)
                until(lambda f=field: f"'{f}' may not be asked for" in self.daemon.starter_log.read_text(), self.daemon.starter_log.read_text())
        for key in ("../../etc/x", "1.0.0/../../../etc", "-1.0.0"):
            self.assertIn("'key' is not as it must be", self.ask(ORDERS, self.order(key))[-1])
        for name, index in (("a GPU that is not given out", 5), ("none", -7), ("many", 10 ** 9)):
            with self.subTest(name):
                answer = self.ask(ORDERS, self.order("930.0.0", gpus=[{"index": index, "uuid": "", "mig_uuid": ""}]))[-1]
                self.assertIn("error", answer)
        self.assertIn("error", self.ask(ORDERS, self.order("931.0.0", gpus=[{"index": 0, "uuid": "../sda", "mig_uuid": ""}]))[-1])
        self.assertEqual(sorted(p.name for p in (self.daemon.work / "tasks").iterdir() if not p.name.startswith(".")), [], "nothing was begun")

    def test_writes_and_reads_by_its_own_jobs_rights_alone(self):
        target = self.folder / "work" / "of-root"
        self.assertIn("done", self.ask(ORDERS, self.order("940.0.0", output_path=str(target)), {"do": "drain", "now_ns": 1})[1])
        until(lambda: (self.daemon.work / "tasks/940.0.0/ended.json").exists(), self.daemon.starter_log.read_text())
        self.assertFalse(target.exists())
        self.assertIn("not started", (self.daemon.work / "tasks/940.0.0/ended.json").read_text())
        for question in ({"do": "read_log", "key": "../../accounts", "output": True, "error": False, "offset": 0, "limit": 100, "ended": True},
                         {"do": "cut_log", "key": "../tasks"}, {"do": "read_log", "path": "/etc/shadow"}, {"do": "owner", "pid": 0},
                         {"do": "run", "command": ["id"]}, "not json", "[" * 100_000):
            with self.subTest(str(question)[:60]):
                self.assertIn("error", self.ask(QUESTIONS, question)[-1])
        self.assertIn("error", self.ask(QUESTIONS, self.order("950.0.0"))[-1])

    def test_another_account_is_not_heard(self):
        for user in (61200, 65533):  # that of a job among them; it has got into the socket's group
            with self.subTest(user):
                self.assertTrue(self.ask(ORDERS, user=user)[-1].startswith("closed"), "nothing is answered")
        until(lambda: "user 61200" in self.daemon.starter_log.read_text(), self.daemon.starter_log.read_text())

    def test_does_not_keep_the_next_one_out(self):
        held = [socket.socket(socket.AF_UNIX) for _ in range(40)]
        os.setegid(CLIENT)
        os.seteuid(CLIENT)
        try:
            for one in held:  # connections that say nothing, and one that announces what is none
                one.connect(str(self.daemon.socket))
            held[0].sendall(struct.pack(">II", 2 ** 32 - 1, 2 ** 32 - 1))
        finally:
            os.seteuid(0)
            os.setegid(0)
        until(lambda: "4294967295" in self.daemon.starter_log.read_text(), "it is said")
        for one in held:
            one.close()
        self.daemon.start()
        token = self.token_of("bob", "submitter@acme")
        self.assertIn("hello", self.run_job(token, "acme", "echo hello"))


if __name__ == "__main__":
    main(sys.modules[__name__])
