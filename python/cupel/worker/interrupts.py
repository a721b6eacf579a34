"""Tells an interrupt that somebody sent apart from a KeyboardInterrupt that a loader raises by itself: the first ends the process, the second is one failure more."""

from __future__ import annotations

import signal
import threading
from typing import Any

_came = False


def _arrive(number: int, frame: Any) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt


def listen() -> None:
    """From here on `came` knows; a handler that is not Python's own stays."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _arrive)


def came(error: BaseException) -> bool:
    """Whether this is the interrupt of a signal."""
    return isinstance(error, KeyboardInterrupt) and _came
