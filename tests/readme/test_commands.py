#!/usr/bin/env python3
"""Every command block of a document, as a newcomer would paste it: on a fresh clone, with an empty home and no token. A command that
fails, fails the test.

Usage: test_commands.py STINT_BINARY SOURCE_DIR DOCUMENT   (a path inside SOURCE_DIR, README.md for one)

All blocks fenced with ```sh run in order in one shell, exactly as printed; a line `# exit code 3` at the end of a command allows that
code. What differs from a real machine, and only this:
- `make` does not install packages nor build: build/release/stint is the program under test (EXPORTS below).
- `make test` is not run: this is it.
- On pages other than README.md the program is on the PATH, as they say.
A block below `<!-- needs: NAME -->` runs where NAME is there (NEEDS below), else it is named and left out; README.md may have none.
Blocks in another language must hold no command of ours, so that nothing escapes by its fence.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap

SKIPPED = 77
PORTS = [8470, 8480]  # what the documents' commands listen on
SECONDS = 540

PREPARE = r"""
set -eEo pipefail
trap 'code=$?; echo "FAILED with exit code $code: $BASH_COMMAND" >&2' ERR
make() {
  if [ "$1" = test ]; then echo "make test: not run inside a test"; return; fi
  command make --no-print-directory -o build -o setup "$@"
}
"""


def clone(source, target):
    """What git would give, and the program where the build would put it."""
    names = subprocess.run(["git", "-C", str(source), "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


class Block:
    def __init__(self, line, language, needs, text):
        self.line, self.language, self.needs, self.text = line, language, needs, text


def blocks_of(document):
    """Fenced blocks with the line they begin in and what stands in `<!-- needs: -->` right above."""
    found, needs, lines, at = [], None, document.splitlines(), 0
    while at < len(lines):
        said = re.fullmatch(r"<!-- needs: (\S+) -->", lines[at].strip())
        opened = re.fullmatch(r"( *)```(\w*)", lines[at])
        if opened:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            found.append(Block(at + 2, opened[2], needs, textwrap.dedent("\n".join(lines[at + 1:end]))))
            at, needs = end, None
        elif said:
            needs = said[1]
        elif lines[at].strip():
            needs = None
        at += 1
    return found


def looks_like_commands(block):
    return block.language != "sh" and re.search(r"^\s*\$?\s*(stint|make|sudo|curl)\s", block.text, re.M)


class Machine:
    """A clean machine's state, and what some blocks need beside it."""

    def __init__(self, stint, source, scratch, name):
        self.source, self.home, self.clone = source, scratch / "home", scratch / "stint"
        self.home.mkdir()
        self.clone.mkdir()
        clone(source, self.clone)
        (self.clone / "build" / "release").mkdir(parents=True)
        (self.clone / "build" / "release" / "stint").symlink_to(stint)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": str(scratch / "tmp"),
                            "STINT_README_TEST": str(scratch)}
        (scratch / "tmp").mkdir()
        if name != "README.md":  # which says it; the other pages begin where it ends
            self.environment["PATH"] = f"{self.clone}/build/release:{self.environment['PATH']}"
        self.ends = []

    def provide(self, need):
        """@return why not, or None."""
        return {"onnxruntime": self.onnxruntime, "slurm": self.slurm}.get(need, lambda: f"no test knows how to provide {need}")()

    def onnxruntime(self):
        library = os.environ.get("STINT_ONNXRUNTIME") or str(next(iter(self.source.glob("build/onnxruntime/libonnxruntime.so.*")), ""))
        if not library or not pathlib.Path(library).exists():
            return "ONNX Runtime has not been fetched (scripts/setup-onnxruntime)"
        folder = self.clone / "build" / "onnxruntime"
        folder.mkdir(exist_ok=True)
        (folder / pathlib.Path(library).name).symlink_to(library)
        return None

    def slurm(self):
        sys.argv[1:1] = ["stint"]
        sys.path.insert(0, str(self.source / "tests" / "slurm"))
        import running_cluster
        if running_cluster.MISSING:
            return f"no real Slurm here: {', '.join(running_cluster.MISSING)}"
        slurm = running_cluster.cluster.Cluster(self.clone.parent / "slurm")
        self.ends.append(slurm.down)
        slurm.up(nodes=2, gpus=8, model="h200", accounting=True, cloud=0, lines=[])
        theirs = slurm.environment()
        self.environment = {**theirs, **self.environment, "PATH": f"{self.environment['PATH']}:{theirs.get('PATH', '')}"}
        return None

    def end(self):
        """Ends what the commands left running: everything whose environment names this test's folder."""
        mark = f"STINT_README_TEST={self.environment['STINT_README_TEST']}".encode()
        for stop in (signal.SIGTERM, signal.SIGKILL):
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if mark in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                        os.kill(int(process.name), stop)
                except (OSError, ProcessLookupError):
                    pass
            subprocess.run(["sleep", "0.5"], check=False)
        for end in self.ends:
            end()


def allowed_failures(text):
    """`COMMAND  # exit code 3: why` may end with that code; everything else is as printed."""
    def allow(match):
        return f"{match[1]} || [ $? = {match[2]} ]  # exit code {match[2]}"
    return re.sub(r"^([^#\n]*[^#\s\n])\s+# exit code (\d+)\b.*$", allow, text, flags=re.M)


def main(stint, source, name):
    source, stint = pathlib.Path(source).resolve(), pathlib.Path(stint).resolve()
    document = (source / name).read_text()
    blocks = blocks_of(document)
    hidden = [b for b in blocks if looks_like_commands(b)]
    for block in hidden:
        print(f"{name}:{block.line}: commands in a block of language '{block.language}': fence it with ```sh so that it is run")
    wanted = [b for b in blocks if b.language == "sh"]
    if not wanted:
        print(f"{name}: no command block")
        return 1
    if name == "README.md" and any(b.needs for b in wanted):
        print(f"{name}: every block of it must run everywhere")
        return 1
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                print(f"port {port} is in use here, and the documents' commands need it")
                return SKIPPED
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        machine = Machine(stint, source, pathlib.Path(scratch), name)
        try:
            script, run = PREPARE, 0
            why_not = {need: machine.provide(need) for need in sorted({b.needs for b in wanted if b.needs})}
            for block in wanted:
                if block.needs and why_not[block.needs]:
                    print(f"{name}:{block.line}: left out: {why_not[block.needs]}")
                    continue
                script += f"echo '== {name}:{block.line}'\n{allowed_failures(block.text)}\n"
                run += 1
            (machine.clone.parent / "commands").write_text(script)
            out = machine.clone.parent / "out"
            with out.open("w") as sink:
                try:
                    code = subprocess.run(["bash", machine.clone.parent / "commands"], cwd=machine.clone, env=machine.environment, stdout=sink,
                                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False).returncode
                except subprocess.TimeoutExpired:
                    code = f"none after {SECONDS} s"
            print(out.read_text(errors="replace"))
            print(f"{name}: {run} of {len(wanted)} blocks run, exit code {code}")
            if run == 0 and not hidden:
                return SKIPPED
            return 1 if code != 0 or hidden else 0
        finally:
            machine.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
