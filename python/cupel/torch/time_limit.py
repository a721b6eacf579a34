"""A limit on the processor time of a way to a graph that may take for ever, so that there is time left for the next one; used by those who capture models.

Processor time, not the clock: what is captured, and how, must not depend on what else a machine does.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

# A library may swallow what is raised in it: it is raised again.
_AGAIN = 5.0


class TookTooLong(Exception):
    """The work was given up."""


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """Raises TookTooLong inside once the process has worked so long. Signals reach only the main thread: elsewhere nothing is limited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TookTooLong(f"{what} takes more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
