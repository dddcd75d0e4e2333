#!/usr/bin/env python3
"""The container image: made twice of packages that a lock names, refused when they are others, read by umoci, and run as a container
runtime runs it: in its own process, mount and network namespaces, with the capabilities that podman gives. Needs root, mmdebstrap,
umoci and a mirror of Debian that answers; skipped without.

Usage: test_image.py STINT SOURCE_DIR [unittest arguments]
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

STINT = SOURCE = None
SOURCE_DATE_EPOCH = "1790000000"
CAPABILITIES = "chown,dac_override,fowner,fsetid,kill,net_bind_service,setfcap,setgid,setpcap,setuid,sys_chroot"  # podman's default
STOP_SECONDS = 60  # what a stop may take on a slow machine; a container runtime kills after ten


def image_made(deb, output, *options, **environment):
    return subprocess.run([f"{SOURCE}/packaging/build-image", deb, output, *options], capture_output=True, text=True, check=False,
                          env={**os.environ, "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH, **environment}, timeout=600)


def lines_of(lock):
    return [line for line in lock.read_text().splitlines() if not line.startswith("#")]


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("mmdebstrap", "umoci", "apt-get", "dpkg-scanpackages", "unshare", "setpriv"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed")
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        cls.keep = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.keep.cleanup)
        cls.folder = pathlib.Path(cls.keep.name)
        cls.lock, cls.cache = cls.folder / "base.lock", cls.folder / "cache"
        cls.deb = subprocess.run([f"{SOURCE}/packaging/build-deb", STINT, cls.folder], capture_output=True, text=True, check=True).stdout.strip()
        # The mirror's packages of today, so that a newer mirror is no failure of this test.
        made = image_made(cls.deb, cls.folder / "first", "--refresh", "--lock", cls.lock, "--cache", cls.cache)
        if "no mirror of Debian" in made.stderr:
            raise unittest.SkipTest(made.stderr)
        assert made.returncode == 0, made.stderr
        cls.said = made.stdout
        cls.image = pathlib.Path(made.stdout.split()[0])
        version = subprocess.run([STINT, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        layout, bundle = cls.folder / "layout", cls.folder / "bundle"
        layout.mkdir()
        subprocess.run(["tar", "-xf", cls.image, "-C", layout], check=True)
        read = subprocess.run(["umoci", "unpack", "--image", f"{layout}:{version}", bundle], capture_output=True, text=True, check=False)
        assert read.returncode == 0, read.stderr
        cls.root = bundle / "rootfs"
        cls.start = json.loads((bundle / "config.json").read_text())["process"]["args"]

    def test_the_same_twice(self):
        again = image_made(self.deb, self.folder / "second", "--lock", self.lock, "--cache", self.cache, TZ="Asia/Tokyo", LC_ALL="C")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.split()[1:], self.said.split()[1:])
        second = pathlib.Path(again.stdout.split()[0])
        subprocess.run(["cmp", second, self.image], check=True)
        self.assertEqual(second.with_suffix(".cdx.json").read_text(), self.image.with_suffix(".cdx.json").read_text())

    def refused(self, change, *options):
        lock = self.folder / "changed.lock"
        lock.write_text("\n".join(change(line) for line in self.lock.read_text().splitlines()) + "\n")
        made = image_made(self.deb, self.folder / "refused", "--lock", lock, "--cache", self.cache, *options)
        self.assertNotEqual(made.returncode, 0)
        self.assertFalse(list((self.folder / "refused").glob("*")))
        return made.stderr

    def test_other_packages_than_the_locked_ones_are_refused(self):
        said = self.refused(lambda line: re.sub(r"^(libssl3 .* )[0-9a-f]+$", r"\g<1>" + "0" * 64, line))
        self.assertRegex(said, r"libssl3 \S+: the lock has SHA-256 0{64}, the mirror [0-9a-f]{64}")
        self.assertIn("--refresh", said)
        self.assertIn("snapshot.debian.org", said)
        said = self.refused(lambda line: re.sub(r"^tini \S+", "tini 0.1-1", line))
        self.assertRegex(said, r"tini: the lock has 0.1-1, the mirror \S+")
        said = self.refused(lambda line: "" if line.startswith("libsqlite3-0 ") else line)
        self.assertRegex(said, r"depends on libsqlite3-0, which .* does not have: .*--refresh")
        self.assertIn("changed.lock:3: ", self.refused(lambda line: line.removesuffix(line[-8:])))
        self.assertIn("is of riscv64", self.refused(lambda line: re.sub(r"^(tini \S+) \S+", r"\1 riscv64", line)))

    def test_the_committed_lock_names_what_the_image_needs(self):
        """Names alone: versions are those of the day on which it was written. A build with gRPC needs more than a release."""
        committed = {line.split()[0] for line in lines_of(pathlib.Path(SOURCE) / "packaging/base.lock")}
        today = {line.split()[0] for line in lines_of(self.lock)}
        depends = subprocess.run(["dpkg-deb", "-f", self.deb, "Depends"], capture_output=True, text=True, check=True).stdout
        direct = {word.split()[0] for word in depends.split(",") if not re.search("grpc|protobuf|absl", word)}
        self.assertEqual(committed - today, set(), "not needed any more: packaging/build-image --refresh")
        self.assertEqual(direct - committed, set(), "needed and not locked: packaging/build-image --refresh")

    def test_the_list_of_what_it_holds(self):
        bom = json.loads(self.image.with_suffix(".cdx.json").read_text())
        self.assertEqual((bom["bomFormat"], bom["specVersion"]), ("CycloneDX", "1.5"))
        listed = {f"{c['name']} {c['version']}" for c in bom["components"] if c["bom-ref"].startswith("deb:")}
        self.assertEqual(listed, {" ".join(line.split()[:2]) for line in lines_of(self.lock)})
        inside = subprocess.run(["dpkg-query", "--admindir", self.root / "var/lib/dpkg", "-W", "-f", "${Package} ${Version}\\n"],
                                capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual(listed, {line for line in inside if not line.startswith("stint ")})
        index = json.loads((self.folder / "layout/index.json").read_text())
        self.assertEqual(index["manifests"][0]["digest"], self.said.split()[1])
        self.assertIn(self.said.split()[1].replace(":", "%3A"), bom["metadata"]["component"]["purl"])
        self.assertTrue(any(c["bom-ref"].startswith("source:") for c in bom["components"]))

    def test_nothing_of_the_machine_that_made_it(self):
        for path in ("etc/resolv.conf", "etc/hostname", "stint.deb"):
            self.assertFalse((self.root / path).exists(), path)
        self.assertNotIn("/tmp", (self.root / "etc/apt/sources.list").read_text())
        self.assertEqual([str(path) for path in self.root.rglob("*") if path.is_block_device() or path.is_char_device()], [])
        self.assertTrue((self.root / "usr/share/doc/stint/copyright").exists())
        accounts = dict(line.split(":")[:3:2] for line in (self.root / "etc/passwd").read_text().splitlines())
        self.assertEqual(accounts["stint"], "900")

    def test_runs_jobs_under_accounts_and_ends(self):
        if subprocess.run(["unshare", "-m", "-n", "-p", "-f", "mount", "--bind", "/dev", "/dev"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespaces here")
        done = subprocess.run(["unshare", "-m", "-n", sys.executable, __file__, "--inside", self.root, *self.start], capture_output=True, text=True,
                              check=False, timeout=400)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


def until(ask, what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := ask():
            return found
        time.sleep(0.1)
    raise AssertionError(f"not in {seconds} s: {what}")


def ready():
    try:
        return urllib.request.urlopen("http://127.0.0.1:8470/readyz", timeout=5).status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def processes(namespace):
    """number → (command line, its four user ids, effective capabilities) of all in a process namespace."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns/pid") == namespace:
                status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                command = (folder / "cmdline").read_text().replace("\0", " ").strip()
                found[int(folder.name)] = (command, {int(word) for word in status["Uid"].split()}, int(status["CapEff"], 16))
        except OSError:
            continue  # it has ended meanwhile
    return found


def inside(root, start):
    """In mount and network namespaces: starts the image, and asks it over loopback."""
    loopback_up()
    subprocess.run(["mount", "--rbind", "/dev", f"{root}/dev"], check=True)
    shutil.copy(f"{root}/usr/share/doc/stint/examples/stint.json", f"{root}/etc/stint/stint.json")
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "STINT_OPTIONS": "--allow-missing-gpus"}

    def stint(*arguments, check=True):
        return subprocess.run(["chroot", root, "stint", *arguments], capture_output=True, text=True, check=check,
                              env={**environment, "STINT_TOKEN_FILE": "/var/lib/stint/state/admin.token"}).stdout.strip()

    print("version", stint("--version"), flush=True)
    command = subprocess.run(["chroot", root, "container-start", "--version"], capture_output=True, text=True, check=True, env=environment)
    assert command.stdout.strip() == stint("--version"), "a command in place of the daemon"
    container = subprocess.Popen(["unshare", "-p", "-f", "--kill-child", "sh", "-ec", 'mount -t proc proc "$1/proc"; exec setpriv '
                                  f'--inh-caps=-all --bounding-set=-all,+{CAPABILITIES.replace(",", ",+")} chroot "$@"', "sh", root, *start],
                                 env=environment, stdin=subprocess.DEVNULL)
    until(lambda: container.poll() is not None or ready(), "/readyz answers")
    assert container.poll() is None, "the container has ended"
    first = until(lambda: pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split(), "process 1")[0]
    namespace = os.readlink(f"/proc/{first}/ns/pid")

    job = stint("submit", "--queue", "agency", "--cpu-milli", "500", "--folder", "/srv", "--", "sh", "-c",
                'echo "i am $(id -u)"; cat /var/lib/stint/state/admin.token')
    until(lambda: re.search('"state": "(succeeded|failed)"', stint("show", "--json", job)), "the job ends")
    printed, complaints = stint("logs", job), stint("logs", "--error", job)
    print(printed, complaints, flush=True)
    assert 20000 <= int(re.search(r"i am (\d+)", printed)[1]) <= 29999, printed
    assert "Permission denied" in complaints, "a job does not read the daemon's state"

    stint("submit", "--queue", "agency", "--cpu-milli", "500", "--folder", "/srv", "--", "sleep", "1234")
    until(lambda: any(command == "sleep 1234" for command, _, _ in processes(namespace).values()), "the second job runs")
    running = processes(namespace)
    for number, what in sorted(running.items()):
        print(number, *what, flush=True)
    (job_users, job_rights), = [(users, rights) for command, users, rights in running.values() if command == "sleep 1234"]
    assert len(job_users) == 1 and 20000 <= min(job_users) <= 29999 and job_rights == 0, "neither root nor stint"
    (daemon_users, daemon_rights), = [(users, rights) for command, users, rights in running.values() if command.startswith("stint daemon")]
    assert daemon_users == {900} and daemon_rights == 0, "the daemon has an account and no rights"

    os.kill(int(first), signal.SIGTERM)
    print("ended with", container.wait(timeout=STOP_SECONDS), flush=True)
    assert processes(namespace) == {}, "all has ended"


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(sys.argv[2], sys.argv[3:])
    else:
        STINT, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
        unittest.main(verbosity=2)
