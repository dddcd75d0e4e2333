"""A PostgreSQL server of a test's own: in a folder that goes with it, reached through a socket in that folder alone."""
import os
import pathlib
import pwd
import signal
import subprocess
import time


def programs():
    """Folder of the server's programs; none = it is not installed (Debian: postgresql)."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class RunningPostgres:
    def __init__(self, folder):
        """@param folder  absent, below one that everybody may enter: the server refuses to run as root."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            os.chown(self.folder, pwd.getpwnam(self._user).pw_uid, -1)
        self._run("initdb", "-D", self.folder / "data", "-U", "stint", "-A", "trust", "--no-sync").wait()
        self.start()

    def _run(self, program, *arguments):
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen([programs() / program, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=self._user,
                                    cwd="/")

    def start(self):
        self.process = self._run("postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off")
        end = time.monotonic() + 120
        while self._run("pg_isready", "-q", "-h", self.folder).wait() != 0:
            assert time.monotonic() < end and self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.1)

    @property
    def url(self):
        return f"postgresql:///postgres?user=stint&host={self.folder}"

    def ask(self, sql):
        """The rows, columns between '|'."""
        done = subprocess.run([programs() / "psql", "-At", "-c", sql, self.url], capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.split("\n")[:-1]

    def stop(self):
        """As in a crash: whoever is connected is cut off."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(timeout=60)
