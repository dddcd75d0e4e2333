#!/usr/bin/env python3
"""A job goes for the jobs of another tenant on the same machine: their account, environment, processes, files and logs.

Usage: test_tenants.py STINT SOURCE_DIR [SUITE]
"""
import json
import os
import pathlib
import subprocess
import sys
import time

from tenants import Attack, main, needs_root

RANGE = "61000-61009"


def allowed(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


MOUNTS = os.geteuid() == 0 and allowed("unshare", "-m", "true")
HIDEPID = MOUNTS and allowed("unshare", "-m", "sh", "-c", "mount --make-rslave / && mount -t proc -o hidepid=invisible proc /proc")


@needs_root
class ProcessesOfAnother(Attack):
    """The victim runs; the thief looks for it."""

    def setUp(self):
        super().setUp()
        self.start("--jobs-as-range", RANGE)
        self.victim, self.thief = self.token_of("vera", "submitter@acme"), self.token_of("eve", "submitter@zoo")
        self.job = self.submit(self.victim, "acme", "echo my-log; echo private > $HOME/notes; echo scratch > /tmp/scratch; "
                               "echo more > /var/tmp/scratch; echo $$ > /dev/stderr; exec sleep 300", "--env", "API_KEY=very-secret-key")
        end = time.monotonic() + 60
        while not (pid := self.daemon.stint("logs", "--stderr", self.job).stdout.strip()):
            assert time.monotonic() < end
            time.sleep(0.05)
        self.pid = int(pid)

    def steal(self, script):
        return self.run_job(self.thief, "zoo", script)

    def test_have_another_account_and_no_further_groups(self):
        mine, groups, name = self.steal("id -u; id -G; echo $USER").split()
        theirs = os.stat(f"/proc/{self.pid}").st_uid
        self.assertTrue(61000 <= int(mine) <= 61009 and 61000 <= theirs <= 61009)
        self.assertNotEqual(int(mine), theirs)
        self.assertEqual(groups, mine, "one group, as the account")
        self.assertEqual(name, mine)

    def test_keep_their_environment(self):
        printed = self.steal(f"cat /proc/{self.pid}/environ; for p in /proc/[0-9]*; do cat $p/environ; done")
        self.assertNotIn("very-secret-key", printed)

    def test_are_not_ended(self):
        self.steal(f"kill -9 {self.pid}; kill -9 -1")
        self.assertEqual(self.state_of(self.job), "running")
        self.assertTrue(os.path.exists(f"/proc/{self.pid}"))

    def test_are_not_seen(self):
        if not HIDEPID:
            self.skipTest("/proc cannot be mounted with hidepid here")
        printed = self.steal("ls -d /proc/[0-9]*; ps -ef 2>/dev/null; true")
        self.assertNotIn(f"/proc/{self.pid}\n", printed)
        self.assertNotIn("/proc/1\n", printed)
        self.assertNotIn("sleep 300", printed)

    def test_keep_their_home(self):
        home = self.daemon.stint("logs", "--stderr", self.job)  # only to be sure that it has begun
        self.assertTrue(home.stdout)
        kept = pathlib.Path(f"{self.daemon.state}-jobs") / str(os.stat(f"/proc/{self.pid}").st_uid)
        self.assertEqual((kept / "notes").read_text(), "private\n")
        self.assertEqual(kept.stat().st_mode & 0o777, 0o700)
        printed = self.steal(f"ls -la {kept.parent} {kept}; cat {kept}/notes; echo of-eve $HOME $(stat -c '%a %u' $HOME) $(id -u)")
        self.assertNotIn("private", printed)
        _, folder, mode, owner, uid = next(line for line in printed.splitlines() if line.startswith("of-eve")).split()
        self.assertEqual((folder, mode, owner), (f"{kept.parent}/{uid}", "700", uid))

    def test_keep_their_files_in_tmp(self):
        if not MOUNTS:
            self.skipTest("no mount namespaces here")
        printed = self.steal("cat /tmp/scratch /var/tmp/scratch; ls -A /tmp /var/tmp; echo x > /tmp/of-eve && echo written")
        self.assertIn("written", printed)
        self.assertNotRegex(printed, "(?m)^(scratch|more)$")
        self.assertFalse(os.path.exists("/tmp/scratch") or os.path.exists("/tmp/of-eve"), "nor does the machine see them")
        left = list((pathlib.Path(f"{self.daemon.state}-jobs") / ".tmp").iterdir())
        self.assertEqual(len(left), 1, "that of the victim, which runs; the thief's is gone")

    def test_keep_their_log(self):
        logs = self.daemon.state / "work/logs"
        self.assertIn("my-log", "".join(p.read_text() for p in logs.iterdir() if p.suffix == ".out"))
        self.assertNotIn("my-log", self.steal(f"cat {logs}/*; cat /proc/*/fd/1"))
        refused = self.daemon.stint("logs", self.job, token=self.thief, check=False)
        self.assertNotIn("my-log", refused.stdout)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("my-log", self.logs(self.job, self.victim))


@needs_root
class AnAccountGivenTwice(Attack):
    def uid_of(self, token, client="acme"):
        return int(self.run_job(token, client, "id -u"))

    def test_never_also_after_a_restart_or_when_the_range_is_used_up(self):
        self.start("--jobs-as-range", "61000-61001")
        ann, bob = self.token_of("ann", "submitter@acme,submitter@zoo"), self.token_of("bob", "submitter@acme")
        of_ann = self.uid_of(ann)
        self.daemon.stop()
        self.daemon.start()
        of_bob = self.uid_of(bob)
        self.assertNotEqual(of_ann, of_bob)
        self.assertEqual(self.uid_of(ann), of_ann, "the same for ever")
        book = json.loads((self.daemon.state / "accounts.json").read_text())
        self.assertEqual(book["accounts"], {"acme/ann": of_ann, "acme/bob": of_bob})
        self.assertEqual(self.daemon.state.stat().st_mode & 0o777, 0o700)
        # Ann's jobs for another client are another tenant's: an admin of that client may submit under any name.
        third = self.submit(ann, "zoo", "true")
        shown = self.wait(third)
        self.assertEqual(shown["state"], "failed", shown)
        self.assertIn("--jobs-as-range", json.dumps(shown))

    def test_a_damaged_book_is_not_begun_anew(self):
        self.start("--jobs-as-range", RANGE)
        self.uid_of(self.token_of("ann", "submitter@acme"))
        self.daemon.stop()
        (self.daemon.state / "accounts.json").write_text("{")
        self.assertRaisesRegex(AssertionError, "accounts.json: is damaged", self.daemon.start)

    def test_of_the_system_is_refused(self):
        for bad, why in (("100-200", "system's"), ("0-70000", "system's"), ("61009-61000", "no range"), ("60000-70000", "65534")):
            with self.subTest(bad):
                self.assertRaisesRegex(AssertionError, why, self.start, "--jobs-as-range", bad)


@needs_root
class OneAccountForAll(Attack):
    def test_is_said_to_be_no_isolation(self):
        self.start("--jobs-as", "nobody")
        self.assertIn("Jobs of all users run as user", self.daemon.log.read_text())

    def test_files_in_tmp_are_private_all_the_same(self):
        if not MOUNTS:
            self.skipTest("no mount namespaces here")
        self.start("--jobs-as", "nobody")
        self.assertEqual(self.run_job(self.token_of("vera", "submitter@acme"), "acme", "echo x > /tmp/stint-of-vera; ls -A /tmp"), "stint-of-vera\n")
        self.assertEqual(self.run_job(self.token_of("eve", "submitter@zoo"), "zoo", "ls -A /tmp"), "")


@needs_root
class WhatTheKernelDoesNotAllow(Attack):
    """A daemon without CAP_SYS_ADMIN, as in most containers: it runs, and says what is not enforced."""

    def test_is_said_at_the_start_with_what_it_means(self):
        # A folder that other accounts can get to.
        self.folder = pathlib.Path(subprocess.run(["mktemp", "-d", "-p", "/var/tmp"], capture_output=True, text=True, check=True).stdout.strip())
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=False)
        self.folder.chmod(0o711)
        program = self.folder / "stint-without"
        program.write_text(f'#!/bin/sh\nexec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "{self.STINT}" "$@"\n')
        program.chmod(0o755)
        real, type(self).STINT = self.STINT, str(program)
        try:
            self.start("--jobs-as-range", RANGE)
        finally:
            type(self).STINT = real
        self.daemon.program = real
        said = self.daemon.log.read_text()
        self.assertIn("No private /tmp", said)
        self.assertIn("Processes are not hidden", said)
        token = self.token_of("ann", "submitter@acme")
        uid, home = self.run_job(token, "acme", "id -u; cd && pwd").split()
        self.assertTrue(61000 <= int(uid) <= 61009)
        self.assertEqual(home, f"{self.daemon.state}-jobs/{uid}")


if __name__ == "__main__":
    main(sys.modules[__name__])
