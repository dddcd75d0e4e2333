#!/usr/bin/env python3
"""A tenant takes all that a machine, or the daemon, has: processes, disk, rows.

Usage: test_limits.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import pathlib
import sys
import threading
import time
import urllib.error

from tenants import Attack, main, needs_root

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


if __name__ == "__main__":
    main(sys.modules[__name__])
