"""A program's wall clock, set while it runs (libfaketime). The time since boot goes on, as it does where that happens really."""
import pathlib
import unittest

FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


class SetClock:
    """Of what is started with `environment`."""

    def __init__(self, program, folder):
        """@raise SkipTest  where that cannot be"""
        if not FAKETIME:
            raise unittest.SkipTest("no libfaketime here (scripts/setup installs it)")
        if b"__asan_init" in pathlib.Path(program).read_bytes():
            raise unittest.SkipTest("libfaketime cannot be loaded into a program with the address sanitizer: both replace malloc and clocks")
        self._file = pathlib.Path(folder) / "clock"
        # Without a cache, each reading of the clock looks at the file.
        self.environment = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1",
                            "FAKETIME_TIMESTAMP_FILE": str(self._file)}
        self.ahead("+0")

    def ahead(self, seconds):
        """Of the machine's clock: "+7200", "-60"."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds}\n")
        new.rename(self._file)
