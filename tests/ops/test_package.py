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
for unit in stint stint-starter stint-jobs; do systemd-analyze verify /lib/systemd/system/$unit.service 2>&1 | sed 's/^/verify /' || true; done
sed 's/"listen": "127.0.0.1:8470"/"listen": "127.0.0.1:0"/' /usr/share/doc/stint/examples/stint.json > /etc/stint/stint.json
# As the units have them started: ProtectSystem=strict, what is writable, few capabilities, and none.
said() { sed -n "s/^$2=[+]*//p" "/lib/systemd/system/$1.service"; }
strict() {  # folders program…: the rest is read-only
  test "$(said "$1" ProtectSystem)" = strict
  cat > /tmp/start <<'START'
for folder in $(echo " $1" | sed 's/ -/ /g') /dev /proc /run /tmp; do if [ -d "$folder" ]; then mount --rbind "$folder" "$folder"; fi; done
shift
mount -o remount,bind,ro /
if touch /usr/writable 2>/dev/null; then echo "not strict" >&2; exit 1; fi
exec "$@"
START
  folders=$(said "$1" ReadWritePaths)
  shift
  exec unshare -m sh -e /tmp/start "$folders" "$@"
}
mkdir -p -m 755 "/run/$(said stint-starter RuntimeDirectory)"
said stint-starter ExecStartPre > /tmp/before-starter
sh -e /tmp/before-starter
starter=$(said stint-starter ExecStart | sed 's| --cgroup [^ ]*||; s| \$STINT_STARTER_OPTIONS||')
daemon=$(said stint ExecStart | sed 's| \$STINT_OPTIONS||')
test "$(said stint CapabilityBoundingSet)" = ""
test "$(said stint User)" = stint
begin() {
  : > /tmp/err; : > /tmp/starter-err; chmod 666 /tmp/err
  strict stint-starter setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+kill,+chown,+dac_override,+fowner,+sys_ptrace,+sys_admin $starter 2>/tmp/starter-err &
  starts=$!
  for i in $(seq 1200); do grep -q "listening on" /tmp/starter-err && break; sleep 0.1; done  # After= of a unit that says when it is ready
  strict stint setpriv --no-new-privs --reuid=stint --regid=stint --clear-groups $daemon --allow-missing-gpus 2>/tmp/err &
  pid=$!
  for i in $(seq 1200); do grep -q "listening on" /tmp/err && break; sleep 0.1; done
  grep -q "listening on" /tmp/err || { sed "s/^/starter said /" /tmp/starter-err; sed "s/^/said /" /tmp/err; exit 1; }
}
begin
export STINT_TOKEN_FILE=/var/lib/stint/admin.token
export STINT_SERVER=$(sed -n 's/.*listening on //p' /tmp/err)
job=$(stint submit --queue agency --cpu-milli 500 --folder /srv -- sh -c 'echo "i am $(id -u) in $HOME"; cat /var/lib/stint/admin.token')
for i in $(seq 600); do stint show --json $job | grep -q '"state": "\(succeeded\|failed\)"' && break; sleep 0.1; done
stint logs $job; stint logs --error $job
sed "s/^/said /" /tmp/err
sed "s/^/starter said /" /tmp/starter-err
sed -n 's/^CapEff:\s*/daemon has /p' /proc/$pid/status
kill $pid; wait $pid || true
kill $starts; wait $starts || true
# As an older package left it, whose one service was root.
mv /var/lib/stint/work/accounts.json /var/lib/stint/
chown -R root:root /var/lib/stint
chmod 700 /var/lib/stint
echo 'STINT_OPTIONS="--listen 127.0.0.1:0 --gpu-scrub /bin/true --job-processes=50"' > /etc/default/stint
echo secret > /etc/stint/pager.key
chmod 600 /etc/stint/pager.key
dpkg -i /tmp/stint.deb >/tmp/log 2>&1 && echo "installed again" || cat /tmp/log
stat -c 'now %n %U %a' /var/lib/stint /var/lib/stint/events.db /var/lib/stint/work /var/lib/stint/work/accounts.json /etc/stint/pager.key
sed 's/^/now /' /etc/default/stint
begin
export STINT_SERVER=$(sed -n 's/.*listening on //p' /tmp/err)
job=$(stint submit --queue agency --cpu-milli 500 --folder /srv -- sh -c 'echo "still $(id -u)"')
for i in $(seq 600); do stint show --json $job | grep -q '"state": "\(succeeded\|failed\)"' && break; sleep 0.1; done
stint logs $job
sed "s/^/said /" /tmp/err
kill $pid; wait $pid || true
kill $starts; wait $starts || true
rm /etc/stint/pager.key
dpkg -r stint >/tmp/log 2>&1
test ! -e /usr/bin/stint && test -e /etc/stint/stint.json && echo "removed"
dpkg -P stint 2>&1 | grep -o "/var/lib/stint stays"
rm -rf /var/lib/stint /var/lib/stint-jobs /run/stint
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
        for path in ("./usr/bin/stint", "./lib/systemd/system/stint.service", "./lib/systemd/system/stint-starter.service",
                     "./lib/systemd/system/stint-jobs.service", "./usr/share/man/man1/stint-submit.1.gz",
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
        self.assertIn("still 70000", out, "the account that it had")
        for now in ("/var/lib/stint root 1770", "/var/lib/stint/events.db stint ", "/var/lib/stint/work root 711",
                    "/var/lib/stint/work/accounts.json root ", "/etc/stint/pager.key stint 600", 'STINT_OPTIONS="--listen 127.0.0.1:0"',
                    'STINT_STARTER_OPTIONS="--gpu-scrub /bin/true --job-processes=50"'):
            self.assertIn(f"now {now}", out)
        for step in ("stint-daemon.1.gz", "installed again", "removed", "/var/lib/stint stays"):
            self.assertIn(step, out)
        self.assertIn("daemon has 0000000000000000", out)
        self.assertNotIn("verify ", out, "the units")
        self.assertNotIn("left over", out)


if __name__ == "__main__":
    STINT, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
