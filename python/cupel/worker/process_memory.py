"""What this process holds, at most and now, and how it is let go behind a test. Used by whoever runs tests in a process that stays; knows nothing of tests themselves."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import sys
from pathlib import Path


def forget_peak() -> None:
    """A warm process has the peak of the tests before; where the kernel lets it, it begins anew."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def held() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def peak() -> int:
    with contextlib.suppress(OSError, StopIteration):
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# What a process may hold more than before a test without a look at everything in it.
_HELD_ON = 128 << 20


def set_aside() -> None:
    """Whoever makes graphs makes objects by the hundred thousand, and libraries have half a million: Python looks for garbage among what comes from here on, not among what is there already."""
    gc.freeze()


def give_back_free() -> None:
    with contextlib.suppress(Exception):  # Of C libraries, GNU's has it.
        ctypes.CDLL(None).malloc_trim(0)


def clean_up() -> None:
    """What a test leaves in torch and in memory."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None and hasattr(dynamo, "reset"):
        dynamo.reset()
    gc.collect()
    give_back_free()  # Otherwise the next test's record counts what is free.


def clean_up_behind(before: int) -> None:
    """The same, and among what was set aside too where much is still held: a test may have let go of what others left."""
    clean_up()
    if held() > before + _HELD_ON:
        gc.unfreeze()
        clean_up()
