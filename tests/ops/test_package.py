#!/usr/bin/env python3
"""The Debian package: made, looked at, installed, run and purged. The install happens in an overlay over this machine's own
root, so that nothing of it stays; where that cannot be had, or a tool is absent, the test is skipped.

Usage: test_package.py STINT SOURCE_DIR [unittest arguments]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STINT = SOURCE = None

# What runs inside: prints a section per step. The daemon speaks on its own port.
INSTALL = r"""
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --bind /dev "$1/root/dev"
mount -t tmpfs tmpfs "$1/root/tmp"
cp "$2" "$1/root/tmp/stint.deb"
chroot "$1/root" sh -e <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
list() { find /etc /usr /lib /opt /srv /var -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /var/tmp \) -prune -o -print | sort; }
list > /tmp/before
dpkg -i /tmp/stint.deb >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
echo "version $(stint --version)"
man -w stint-daemon
systemd-analyze verify /lib/systemd/system/stint.service 2>&1 | sed 's/^/verify /' || true
sed 's/"listen": "127.0.0.1:8470"/"listen": "127.0.0.1:0"/' /usr/share/doc/stint/examples/stint.json > /etc/stint/stint.json
# As the unit has it started: ProtectSystem=strict, what is writable, and few capabilities.
said() { sed -n "s/^$1=[+]*//p" /lib/systemd/system/stint.service; }
test "$(said ProtectSystem)" = strict
mkdir -p -m 700 "/var/lib/$(said StateDirectory)"
$(said ExecStartPre)
cat > /tmp/start <<'START'
for folder in /var/lib/stint $(echo " $1" | sed 's/ -/ /g') /dev /proc; do if [ -d "$folder" ]; then mount --rbind "$folder" "$folder"; fi; done
mount -o remount,bind,ro /
if touch /usr/writable 2>/dev/null; then echo "not strict" >&2; exit 1; fi
exec setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+kill,+chown,+dac_override,+fowner,+sys_ptrace,+sys_admin \
  stint daemon --config /etc/stint/stint.json --state /var/lib/stint --jobs-as-range 70000-79999 --allow-missing-gpus
START
unshare -m sh -e /tmp/start "$(said ReadWritePaths)" 2>/tmp/err &
pid=$!
for i in $(seq 600); do grep -q "listening on" /tmp/err && break; sleep 0.1; done
export STINT_SERVER=$(sed -n 's/.*listening on //p' /tmp/err) STINT_TOKEN_FILE=/var/lib/stint/admin.token
job=$(stint submit --queue agency --cpu-milli 500 --folder /srv -- sh -c 'echo "i am $(id -u) in $HOME"; cat /var/lib/stint/admin.token')
for i in $(seq 600); do stint show --json $job | grep -q '"state": "\(succeeded\|failed\)"' && break; sleep 0.1; done
stint logs $job; stint logs --error $job
sed "s/^/said /" /tmp/err
kill $pid; wait $pid || true
dpkg -i /tmp/stint.deb >/tmp/log 2>&1 && echo "installed again"
dpkg -r stint >/tmp/log 2>&1
test ! -e /usr/bin/stint && test -e /etc/stint/stint.json && echo "removed"
dpkg -P stint 2>&1 | grep -o "/var/lib/stint stays"
rm -rf /var/lib/stint
rm -rf /var/lib/stint-jobs
list > /tmp/after
diff /tmp/before /tmp/after | grep '^[<>]' | sed 's/^/left over /' || true
INSIDE
"""


def need(test, *programs):
    for program in programs:
        if shutil.which(program) is None:
            test.skipTest(f"{program} is not installed")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keep.name)
        for program in ("dpkg-deb", "dpkg-shlibdeps", "strip"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed")
        made = subprocess.run([f"{SOURCE}/packaging/build-deb", STINT, cls.folder], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        cls.deb = made.stdout.strip()

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    def test_holds_what_a_package_should(self):
        files = subprocess.run(["dpkg-deb", "-c", self.deb], capture_output=True, text=True, check=True).stdout
        for path in ("./usr/bin/stint", "./lib/systemd/system/stint.service", "./usr/share/man/man1/stint-submit.1.gz",
                     "./usr/share/bash-completion/completions/stint", "./usr/share/zsh/vendor-completions/_stint",
                     "./usr/share/fish/vendor_completions.d/stint.fish", "./usr/share/doc/stint/examples/stint.json", "./etc/stint/"):
            self.assertIn(f" {path}\n", files)
        self.assertNotIn("/work", files)
        owners = {line.split()[1] for line in files.splitlines()}
        self.assertEqual(owners, {"root/root"})
        depends = subprocess.run(["dpkg-deb", "-f", self.deb, "Depends"], capture_output=True, text=True, check=True).stdout
        for package in ("libc6", "libsqlite3-0", "libssl3"):
            self.assertIn(package, depends)

    def test_lintian_finds_no_error_or_warning(self):
        need(self, "lintian")
        done = subprocess.run(["lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", self.deb], capture_output=True,
                              text=True, check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_same_twice(self):
        again = subprocess.run([f"{SOURCE}/packaging/build-deb", STINT, self.folder / "again"], capture_output=True, text=True, check=True)
        self.assertEqual(pathlib.Path(again.stdout.strip()).read_bytes(), pathlib.Path(self.deb).read_bytes())

    def test_installs_runs_jobs_as_their_user_and_leaves_nothing(self):
        need(self, "unshare", "setpriv", "chroot", "man")
        if os.geteuid() != 0:
            self.skipTest("needs root")
        scratch = self.folder / "overlay"
        scratch.mkdir()
        probe = subprocess.run(["unshare", "-m", "sh", "-ec", 'mount -t tmpfs tmpfs "$1"; mkdir "$1/u" "$1/w" "$1/m"; '
                                'mount -t overlay overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" "$1/m"', "sh", scratch],
                               capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no overlay can be mounted here")
        done = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "bash", "-c", INSTALL, "bash", scratch, self.deb], text=True,
                              capture_output=True, timeout=500, check=False)
        out = done.stdout
        self.assertEqual(done.returncode, 0, out + done.stderr)
        self.assertIn("i am 70000 in /var/lib/stint-jobs/70000", out)
        self.assertNotIn("not hidden", out)
        self.assertNotIn("No private /tmp", out)
        self.assertIn("Permission denied", out, "a job does not read the daemon's state")
        for step in ("stint-daemon.1.gz", "installed again", "removed", "/var/lib/stint stays"):
            self.assertIn(step, out)
        self.assertNotIn("verify ", out, "the unit")
        self.assertNotIn("left over", out)


if __name__ == "__main__":
    STINT, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
