#!/usr/bin/env python3
"""A tenant takes all that a machine, or the daemon, has: processes, disk, rows.

Usage: test_limits.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.error

from tenants import HERE, Attack, main, needs_root

MIB = 1 << 20


@needs_root
class Processes(Attack):
    def test_a_fork_bomb_is_held(self):
        self.start("--jobs-as-range", "61500-61509", "--job-processes", "40")
        eve, vera = self.token_of("eve", "submitter@acme"), self.token_of("vera", "submitter@zoo")
        # Each tries to start 100 that stay; how many there are is counted outside.
        bomb = self.submit(eve, "acme", """exec /usr/bin/python3 -c '
import os, time
for i in range(100):
    try:
        if os.fork() == 0:
            break
    except OSError:
        pass
time.sleep(300)'""")
        mine = lambda: [p for p in os.listdir("/proc") if p.isdigit() and self.uid(p) == 61500]  # noqa: E731
        most, end = 0, time.monotonic() + 3
        while time.monotonic() < end:
            most = max(most, len(mine()))
            time.sleep(0.02)
        self.assertGreater(most, 20, "it tried")
        self.assertLessEqual(most, 40)
        self.assertEqual(self.run_job(vera, "zoo", "echo goes on"), "goes on\n", "another tenant's job starts all the same")
        self.daemon.stint("cancel", bomb)
        self.wait(bomb)
        self.assertEqual(mine(), [])

    @staticmethod
    def uid(pid):
        try:
            return os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return None

    def test_there_is_a_limit_where_none_is_named(self):
        self.start("--jobs-as-range", "61500-61509")
        limit = self.run_job(self.token_of("eve", "submitter@acme"), "acme", "grep processes /proc/self/limits").split()[2]
        machine = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())
        self.assertEqual(int(limit), min(16384, machine // 4))


class Memory(Attack):
    TAKE = """/usr/bin/python3 -c 'taken = bytearray(300 << 20); taken[::4096] = b"x" * len(taken[::4096]); print("took it")' 2>&1"""

    def test_a_job_that_names_no_memory_has_a_limit(self):
        self.start("--insecure-shared-user", "--job-memory", "128MiB")
        token = self.token_of("eve", "submitter@acme")
        self.assertIn("MemoryError", self.run_job(token, "acme", self.TAKE))
        self.assertEqual(self.run_job(token, "acme", self.TAKE, "--memory", "2GiB"), "took it\n", "what names more has more")

    def test_what_has_no_limit_is_told_at_the_start(self):
        notes = self.start("--insecure-shared-user").ask("GET", "/v1")["notes"]
        self.assertTrue(any("--job-memory sets one" in note for note in notes), notes)


class Logs(Attack):
    def test_a_log_does_not_fill_the_disk_and_keeps_its_end(self):
        self.start("--insecure-shared-user", "--job-log-limit", "4MiB")
        token = self.token_of("eve", "submitter@acme")
        job = self.submit(token, "acme", "i=0; while [ $i -lt 40 ]; do head -c 2097152 /dev/zero | tr '\\0' x; echo; sleep 0.05; i=$((i+1)); done; "
                          "echo the end")
        most = 0
        while self.state_of(job) not in ("succeeded", "failed"):
            most = max(most, self.taken())
            time.sleep(0.02)
        self.assertGreater(most, MIB)
        self.assertLess(most, 30 * MIB, "of the 80 MiB that it printed")
        self.assertLessEqual(self.taken(), 4 * MIB + 64 * 1024)
        done = self.daemon.stint("logs", job, token=token)
        self.assertTrue(done.stdout.endswith("the end\n"))
        self.assertNotIn("\0", done.stdout)
        self.assertLessEqual(len(done.stdout), 4 * MIB)
        self.assertGreater(len(done.stdout), MIB)
        self.assertRegex(done.stderr, r"\d+ bytes before this are gone")
        whole = self.daemon.stint("logs", "--stdout", job, token=token).stdout
        self.assertEqual(whole, done.stdout)
        # A backup holds what is left, not the file's length.
        archive = self.folder / "backup.tar"
        self.daemon.stint("backup", "--state", str(self.daemon.state), "--config", str(self.daemon.config), "--logs", str(archive))
        self.assertLess(archive.stat().st_size, 10 * MIB)

    def taken(self):
        """Bytes of the disk that logs take."""
        total = 0
        for path in (self.daemon.state / "work/logs").glob("*.out"):
            total += path.stat().st_blocks * 512
        return total

    def test_what_is_followed_goes_on_behind_what_is_gone(self):
        self.start("--insecure-shared-user", "--job-log-limit", "1MiB")
        token = self.token_of("eve", "submitter@acme")
        job = self.submit(token, "acme", "i=0; while [ $i -lt 30 ]; do seq 1 20000; seq 1 20000 >&2; sleep 0.05; i=$((i+1)); done; echo end; echo end >&2")
        self.wait(job)
        merged = self.daemon.stint("logs", job, token=token).stdout
        self.assertNotIn("\0", merged)
        self.assertEqual(merged.splitlines().count("end"), 2)
        self.assertLess(len(merged), 2 * MIB + MIB // 2)


class KeptLogs(Attack):
    """What jobs printed stays after their end, within what their client and user may keep."""
    CONFIG = dict(HERE, govern={"clients": [{"name": "acme", "log_mebibytes": 6, "user_log_mebibytes": 3}]})
    PRINT = "head -c 2097152 /dev/zero | tr '\\0' x; echo; echo the end"

    def client(self, token=None):
        return next(one for one in self.daemon.ask("GET", "/v1/clients", token=token)["clients"] if one["name"] == "acme")

    def comes_true(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.client()
            time.sleep(0.1)

    def test_a_client_keeps_within_its_quota_and_others_keep_theirs(self):
        self.start("--insecure-shared-user")
        eve, vera, zoe = self.token_of("eve", "submitter@acme"), self.token_of("vera", "submitter@acme"), self.token_of("zoe", "submitter@zoo")
        oldest = self.submit(zoe, "zoo", self.PRINT)
        veras = self.submit(vera, "acme", self.PRINT)
        for job in (oldest, veras):
            self.wait(job)
        runs = self.submit(eve, "acme", self.PRINT + "; exec sleep 300")
        ended = [self.submit(eve, "acme", self.PRINT) for _ in range(4)]
        for job in ended:
            self.wait(job)
        # She has 2 MiB of a job that runs, and room for less than another.
        for job in ended:
            self.comes_true(lambda job=job: not self.logs(job, eve))
            done = self.daemon.stint("logs", job, token=eve)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"2097161 bytes that it printed are gone: logs of ended jobs")
        for job, token in ((runs, eve), (veras, vera), (oldest, zoe)):
            self.assertTrue(self.logs(job, token).endswith("the end\n"), job)
        self.comes_true(lambda: MIB / 2 < self.client(eve)["own_log_bytes"] < 3 * MIB and 2 * MIB < self.client(eve)["log_bytes"] < 5 * MIB)
        client = self.client(eve)
        self.assertEqual((client["log_bytes_most"], client["own_log_bytes_most"]), (6 * MIB, 3 * MIB))
        records = [json.loads(row["record"]) for row in self.daemon.ask("GET", "/v1/audit-log?limit=1000&client=acme")["records"]]
        said = " ".join(record["detail"] for record in records if record["method"] == "CUT")
        for job in ended:
            self.assertRegex(said, rf"its user's quota \(user_log_mebibytes\).* {job}\b")
        self.assertNotIn(veras + " ", said + " ")
        metrics = self.daemon.metrics()
        self.assertRegex(metrics, r'stint_job_logs_limit_bytes\{client="acme"\} 6291456\n')
        self.assertRegex(metrics, r'stint_job_logs_cut_bytes_total\{client="acme"\} \d{7,8}\n')
        self.assertNotIn('client="acme"', self.daemon.metrics(zoe), "another client's are not shown")

    def test_running_jobs_do_not_fill_the_disk_together(self):
        """Each keeps within its own limit, and there are many."""
        self.CONFIG = dict(HERE, job_logs={"most": "8MiB"})
        self.start("--insecure-shared-user")
        eve, zoe = self.token_of("eve", "submitter@acme"), self.token_of("zoe", "submitter@zoo")
        victim = self.submit(zoe, "zoo", "head -c 1048576 /dev/zero | tr '\\0' z; echo; exec sleep 300")
        hogs = [self.submit(eve, "acme", "for i in 1 2 3; do head -c 2097152 /dev/zero | tr '\\0' x; echo; done; echo the end >&2; exec sleep 300")
                for _ in range(4)]
        for job in hogs:
            self.comes_true(lambda j=job: self.logs(j, eve).endswith("the end\n"))
        logs = self.daemon.state / "work/logs"
        self.comes_true(lambda: sum(path.stat().st_blocks * 512 for path in logs.glob("*.*")) <= 8 * MIB)
        for job in (victim, *hogs):
            self.assertEqual(self.state_of(job), "running")
        self.assertEqual(len(self.logs(victim, zoe)), MIB + 1, "within her part she loses nothing")
        for job in hogs:
            done = self.daemon.stint("logs", job, token=eve)
            self.assertTrue(done.stdout.endswith("the end\n"))
            self.assertGreater(len(done.stdout), MIB, "none of them has to pay alone")
            self.assertRegex(done.stderr, r"\d+ bytes before this are gone.*job_logs")
            self.assertRegex(done.stdout, r"\[stint: \d+ bytes before this were taken away")
        records = [json.loads(row["record"]) for row in self.daemon.ask("GET", "/v1/audit-log?limit=1000&client=acme")["records"]]
        self.assertTrue(any("running job" in record["detail"] and "shortened" in record["detail"] for record in records if record["method"] == "CUT"))

    def test_what_is_too_old_goes_and_what_runs_stays(self):
        self.CONFIG = dict(HERE, job_logs={"keep": "1s"})
        self.start("--insecure-shared-user")
        eve = self.token_of("eve", "submitter@acme")
        runs = self.submit(eve, "acme", "echo first; exec sleep 300")
        job = self.submit(eve, "acme", "echo printed")
        self.wait(job)
        self.comes_true(lambda: not self.logs(job, eve))
        self.assertIn("8 bytes that it printed are gone", self.daemon.stint("logs", job, token=eve).stderr)
        self.assertEqual(self.logs(runs, eve), "first\n")
        # The same after a restart, which knows nothing but the event log and the files.
        self.daemon.kill()
        self.daemon.start()
        self.daemon.stint("cancel", runs)
        self.wait(runs)
        self.comes_true(lambda: not self.logs(runs, eve))


@needs_root
class Disk(Attack):
    """Of 96 MiB, 24 kept for the daemon's records."""
    RESERVE, SIZE = 24 * MIB, 96 * MIB

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", self.disk], check=False).returncode != 0:
            self.skipTest("needs CAP_SYS_ADMIN")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.disk], check=False))
        self.start("--insecure-shared-user", "--disk-reserve", "24MiB", "--job-log-limit", "1GiB", state=self.disk / "state")
        self.token = self.token_of("eve", "submitter@acme")

    def free(self):
        told = os.statvfs(self.disk)
        return told.f_bavail * told.f_frsize

    def test_what_jobs_print_gives_way(self):
        # Its end comes when room has been made again: while the disk is at its least, nothing is kept.
        job = self.submit(self.token, "acme", "i=0; while [ $i -lt 100 ]; do head -c 2097152 /dev/zero | tr '\\0' x; echo; sleep 0.04; i=$((i+1)); done; "
                                              "sleep 2; echo the end")
        # By a thread of its own: it sees what goes up and down between two answers of the daemon.
        least, ended = self.free(), threading.Event()

        def watch():
            nonlocal least
            while not ended.wait(0.005):
                least = min(least, self.free())
        watching = threading.Thread(target=watch)
        watching.start()
        try:
            while self.state_of(job) not in ("succeeded", "failed"):
                time.sleep(0.1)
        finally:
            ended.set()
            watching.join()
        self.assertEqual(self.state_of(job), "succeeded")
        self.assertLess(least, self.SIZE // 2, "it printed 200 MiB")
        self.assertGreater(least, self.RESERVE)
        self.assertTrue(self.logs(job, self.token).endswith("the end\n"), "its end is kept")

    def test_no_work_comes_in_while_the_reserve_is_used(self):
        runs = self.submit(self.token, "acme", "sleep 300")
        with open(self.disk / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, self.free() - 10 * MIB)
        refused = subprocess.run([self.STINT, "submit", "--queue", "acme", "--cpu-milli", "500", "--", "true"], capture_output=True, text=True,
                                 env=dict(self.daemon.environment(), STINT_TOKEN=self.token), timeout=60, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("24 MiB are kept", refused.stderr)
        self.daemon.stint("cancel", runs)
        self.assertEqual(self.wait(runs)["state"], "cancelled", "the daemon goes on writing its records")
        (self.disk / "filler").unlink()
        self.assertEqual(self.run_job(self.token, "acme", "echo again"), "again\n")


class HeldJobs(Attack):
    def submit_array(self, token, client, count):
        body = {"queue": client, "command": ["true"], "array": count, "on_hold": True, "cpu_milli": 1}
        try:
            self.daemon.ask("POST", "/v1/jobs", body, token=token)
            return 201, {}
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def test_two_hundred_thousand_of_twenty_requests_are_refused(self):
        self.start("--insecure-shared-user")
        eve, vera = self.token_of("eve", "submitter@acme"), self.token_of("vera", "submitter@acme")
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.submit_array(eve, "acme", 10_000))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(code for code, _ in answers), [201] * 2 + [429] * 18)
        problem = next(body for code, body in answers if code == 429)
        self.assertIn("user eve in client acme may have 20000 jobs waiting", problem["detail"])
        self.assertIn("user_max_waiting", problem["detail"])
        self.assertEqual((problem["refusal"]["by"], problem["refusal"]["of"], problem["refusal"]["limit"]), ("max_waiting", "user", "20000"))
        self.assertEqual(self.submit_array(eve, "acme", 1)[0], 429, "and not one more")
        self.assertEqual(self.submit_array(vera, "acme", 10)[0], 201, "a colleague is not shut out")
        self.assertEqual(self.submit_array(self.token_of("zoe", "submitter@zoo"), "zoo", 10)[0], 201)


class Records(Attack):
    """What stays in the event log and the audit log for good."""
    CONFIG = dict(HERE, govern={"clients": [{"name": "acme", "user_records_per_day": 30, "user_mebibytes_per_day": 1}]})

    def post(self, token, path, body=None):
        try:
            return 200, self.daemon.ask("POST", path, body, token=token)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def audited(self):
        return len(self.daemon.ask("GET", "/v1/audit-log?limit=1000")["records"])

    def test_holding_and_releasing_for_ever_is_refused(self):
        self.start("--insecure-shared-user")
        eve, vera = self.token_of("eve", "submitter@acme"), self.token_of("vera", "submitter@acme")
        job = self.submit(eve, "acme", "true", "--hold", "--not-before", "2099-01-01T00:00:00Z")
        codes = [self.post(eve, f"/v1/jobs/{job}/{what}")[0] for _ in range(20) for what in ("release", "hold")]
        self.assertEqual(codes, [200] * 29 + [422] * 11)
        detail = self.post(eve, f"/v1/jobs/{job}/release")[1]["detail"]
        self.assertIn("user eve in client acme may put 30 records a day into the event log", detail)
        self.assertIn("raise user_records_per_day", detail)
        code, problem = self.post(eve, "/v1/jobs", {"queue": "acme", "command": ["true"], "cpu_milli": 1})
        self.assertEqual((code, problem["refusal"]["by"], problem["refusal"]["of"]), (429, "records_per_day", "user"))
        self.assertEqual(self.post(vera, "/v1/jobs", {"queue": "acme", "command": ["true"], "cpu_milli": 1})[0], 200, "a colleague goes on")
        self.daemon.stint("cancel", job, token=eve)
        self.assertEqual(self.state_of(job), "cancelled", "what ends a job is taken")

    def test_large_scripts_are_refused(self):
        self.start("--insecure-shared-user")
        eve = self.token_of("eve", "submitter@acme")
        body = {"queue": "acme", "script": "#!/bin/sh\n# " + "x" * 90_000, "on_hold": True, "cpu_milli": 1}
        answers = [self.post(eve, "/v1/jobs", body) for _ in range(12)]
        self.assertEqual([code for code, _ in answers], [200] * 11 + [429])
        self.assertEqual(answers[-1][1]["refusal"]["by"], "mebibytes_per_day")

    def test_what_is_refused_again_and_again_does_not_fill_the_audit_log(self):
        self.start("--insecure-shared-user")
        eve = self.token_of("eve", "submitter@acme")
        for _ in range(700):
            self.assertEqual(self.post(eve, "/v1/jobs", {"queue": "zoo", "command": ["true"]})[0], 422)
        # A burst of five minutes' worth and what a minute or two add; the others are counted.
        self.assertLess(self.audited(), 600)


if __name__ == "__main__":
    main(sys.modules[__name__])
