"""A limit on the processor time of a way to a graph that may take for ever, so that there is time left for the next one; used by those who capture models.

Processor time, not the clock: what is captured, and how, must not depend on what else a machine does.

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
from collections.abc import Iterator
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


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """Raises TookTooLong inside once the process has worked so long. Signals reach only the main thread: elsewhere nothing is limited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    from torch._dynamo.eval_frame import skip_code

    stoppable = _stoppable()
    profiler = sys.getprofile()

    def trap(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in stoppable:
            sys.setprofile(profiler)
            raise TookTooLong(f"{what} takes more than {seconds:g} s of processor time")

    def stop(number: int, frame: Any) -> None:
        sys.setprofile(trap)

    # Neither is a part of the model that is being captured.
    skip_code(trap.__code__)
    skip_code(stop.__code__)
    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        sys.setprofile(profiler)
