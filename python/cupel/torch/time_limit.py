"""A limit on the time of a way to a graph that may take for ever, so that there is time left for the next one; used by those who capture models.

Processor time, not the clock: what is captured, and how, must not depend on what else a machine does. But a test that has a time of its own ends with it, by the clock:
where that is known, no way takes more than half of what is left of it (docs/decisions/0118).

A signal arrives anywhere, also in a Python function that C++ called and from which it takes no exception: raised there, it ends the process. So the
handler raises nothing. It sets a trap, and what is raised is raised at the next call of a function that Python itself calls, or that torch's Python bindings
call, which hand on what they meet. torch's dispatcher does not always: it asks Python for sizes in the midst of what must not fail.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

# A library may swallow what is raised in it: it is raised again.
_AGAIN = 5.0


class TookTooLong(Exception):
    """The work was given up."""


@functools.cache
def _stoppable() -> frozenset[CodeType]:
    """What every way to a graph calls again and again: a layer, a function of torch's, an instruction, a node."""
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    from torch._export.non_strict_utils import _NonStrictTorchFunctionHandler
    from torch.fx import Interpreter
    from torch.fx.experimental.proxy_tensor import PreDispatchTorchFunctionMode, TorchFunctionMetadataMode
    from torch.nn import Module

    functions: list[Any] = [Module._call_impl, InstructionTranslatorBase.step, Interpreter.run_node]
    functions += [mode.__torch_function__ for mode in (_NonStrictTorchFunctionHandler, PreDispatchTorchFunctionMode, TorchFunctionMetadataMode)]
    return frozenset(_innermost(function).__code__ for function in functions)


def _innermost(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


_ends_at: float | None = None
# Of what is left of a test's time, what one way may take.
_SHARE = 0.5


@contextlib.contextmanager
def test_time(seconds: float | None) -> Iterator[None]:
    """A test that ends in so many seconds by the clock, whatever it does until then; None: it does not."""
    global _ends_at
    _ends_at = time.monotonic() + seconds if seconds else None
    try:
        yield
    finally:
        _ends_at = None


class _Clock:
    """Sends the signal once so much time has passed, and again until it is stopped."""

    def __init__(self, seconds: float, send: Callable[[], None]):
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(seconds, send), daemon=True)
        self._thread.start()

    def _run(self, seconds: float, send: Callable[[], None]) -> None:
        while not self._stopped.wait(seconds):
            send()
            seconds = _AGAIN

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """Raises TookTooLong inside once the process has worked so long, or half of the test's time is over. Signals reach only the main thread: elsewhere nothing is limited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    from torch._dynamo.eval_frame import skip_code

    stoppable = _stoppable()
    profiler = sys.getprofile()
    left = max(0.001, _ends_at - time.monotonic()) if _ends_at is not None else 0.0
    reason = f"{what} takes more than {seconds:g} s of processor time"
    is_stopped = False

    def trap(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in stoppable:
            nonlocal is_stopped
            is_stopped = True
            sys.setprofile(profiler)
            raise TookTooLong(reason)

    def stop(number: int, frame: Any) -> None:
        sys.setprofile(trap)

    def stop_by_clock() -> None:
        nonlocal reason
        reason = f"{what} takes more than {_SHARE * left:.3g} s, half of what was left of the test's time (--timeout)"
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGPROF)

    # Neither is a part of the model that is being captured.
    skip_code(trap.__code__)
    skip_code(stop.__code__)
    before = signal.signal(signal.SIGPROF, stop)
    clock = _Clock(_SHARE * left, stop_by_clock) if left else None
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
        yield
    except Exception as error:
        if is_stopped and not isinstance(error, TookTooLong):
            raise TookTooLong(reason) from error
        raise
    else:
        if is_stopped:  # Somebody took it for an error of the model's, and went on with something else than the model.
            raise TookTooLong(reason)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if clock is not None:
            clock.stop()
        signal.signal(signal.SIGPROF, before)
        sys.setprofile(profiler)
