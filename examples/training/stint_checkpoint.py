"""Checkpoints that can be trusted, in plain Python: copy this file beside your training program.

    saved = Checkpoints()                      # folder and restore point from `stint run`, or given
    state = saved.restore(load)                # load(folder) of the newest good one; None = begin
    while not done:
        ...
        if time_to_save or saved.stop_requested:
            saved.save(f"step-{step}", write)  # write(folder) puts files there
        if saved.stop_requested:
            sys.exit(0)

A checkpoint is a folder that appears whole: written under another name, every file synced, listed with its SHA-256 in
SHA256SUMS, then renamed. What lacks the list or differs from it is passed over when restoring. `stint run` reads the same list.
"""
import hashlib
import os
import pathlib
import re
import shutil
import signal

LIST = "SHA256SUMS"


class Checkpoints:
    def __init__(self, folder=None, keep=3, signals=(signal.SIGTERM, signal.SIGUSR1)):
        """folder: STINT_CHECKPOINT_DIR by default. keep: how many of these stay there. From here on the signals only
        set `stop_requested`: what is being computed goes on until the program asks."""
        self.folder = pathlib.Path(folder or os.environ.get("STINT_CHECKPOINT_DIR") or "checkpoints")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keep = keep
        self.stop_requested = False
        for number in signals:
            signal.signal(number, self._request_stop)

    def _request_stop(self, *_):
        self.stop_requested = True

    def restore(self, load):
        """What load(folder) makes of the newest good checkpoint; None when there is none."""
        chosen = os.environ.get("STINT_RESTORE_FROM")
        found = [pathlib.Path(chosen)] if chosen else self.newest_first()
        good = next((c for c in found if is_whole(c)), None)
        state = load(good) if good else None
        ready = os.environ.get("STINT_READY_FILE")
        if ready:
            pathlib.Path(ready).touch()
        return state

    def newest_first(self):
        found = [c for c in self.folder.iterdir() if c.is_dir() and not c.is_symlink() and not c.name.startswith(".")]
        return sorted(found, key=lambda c: (c.stat().st_mtime_ns, _natural(c.name)), reverse=True)

    def save(self, name, write):
        """Makes the checkpoint `name` of what write(folder) puts there. All or nothing, also when the power fails."""
        draft = self.folder / f".{name}.tmp"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        write(draft)
        files = sorted(f for f in draft.rglob("*") if f.is_file())
        (draft / LIST).write_text("".join(f"{_sha256(f)}  {f.relative_to(draft)}\n" for f in files))
        for path in [*files, draft / LIST, *(d for d in draft.rglob("*") if d.is_dir()), draft]:
            _sync(path)
        final = self.folder / name
        old = self.folder / f".{name}.old.tmp"
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)
            final.rename(old)
        draft.rename(final)
        _sync(self.folder)
        shutil.rmtree(old, ignore_errors=True)
        for surplus in self.newest_first()[self.keep:]:
            shutil.rmtree(surplus, ignore_errors=True)


def is_whole(folder):
    """Is every file of its list there, with that hash?"""
    try:
        lines = (folder / LIST).read_text().splitlines()
        return bool(lines) and all(_sha256(folder / line[66:]) == line[:64] for line in lines)
    except OSError:
        return False


def _sha256(path):
    hash_ = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            hash_.update(piece)
    return hash_.hexdigest()


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
