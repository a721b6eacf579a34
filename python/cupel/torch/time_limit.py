"""A limit on the processor time of a way to a graph that may take for ever, so that there is time left for the next one; used by those who capture models.

Processor time, not the clock: what is captured, and how, must not depend on what else a machine does.

A signal arrives anywhere, also in a Python function that C++ called and from which it takes no exception: raised there, it ends the process. So the
handler raises nothing. It sets a trap, and what is raised is raised at the next call of a function that is known to be called by those who can be
stopped: by Python, or by torch's dispatcher, which hands on what its Python modes raise.
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
    """What every way to a graph calls again and again: a layer, an instruction, a node, an operator."""
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch._subclasses.functional_tensor import FunctionalTensorMode
    from torch.fx import Graph, Interpreter
    from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
    from torch.nn import Module

    functions: list[Any] = [Module._call_impl, InstructionTranslatorBase.step, Graph.create_node, Interpreter.run_node]
    functions += [mode.__torch_dispatch__ for mode in (FakeTensorMode, FunctionalTensorMode, ProxyTorchDispatchMode)]
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
    from torch._C._dynamo.eval_frame import skip_code

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
