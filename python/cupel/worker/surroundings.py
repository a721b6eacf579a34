"""What a loader may set in the process for all that comes after it: working folder, timers, streams, options of Python and torch. Put back after each test.

A setting is a row of a table: how it is read, how it is written. What cannot be put back (a thread of the zoo's that goes on, a module of a framework that is another one)
makes the worker begin anew (patches.py); what the system does not let anybody put back, and a process that begins anew inherits (a lower limit, another user), makes it end, and
the runner starts another (`not_put_back`). JAX's options are put back by jax_model.py. Never judges what a loader sets for its own test.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import locale
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch


@dataclass(frozen=True)
class _Setting:
    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    decides_numbers: bool = False
    """Of the framework's results on the CPU: one that was computed with another value is no other model's golden result."""


def _of(place: Any, name: str) -> _Setting:
    """An attribute that holds a value."""
    return _Setting(name, lambda: getattr(place, name), lambda value: setattr(place, name, value))


def _in_place(name: str, holder: Callable[[], Any], decides_numbers: bool = False) -> _Setting:
    """A list or a dictionary, which others hold as well: it stays the same object."""

    def write(value: Any) -> None:
        now = holder()
        now.clear()
        (now.update if isinstance(now, dict) else now.extend)(value)

    return _Setting(name, lambda: holder().copy(), write, decides_numbers)


# --- the process -------------------------------------------------------------------------------------------------------------------------

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}}


def _set_handlers(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:  # None: C's, of which Python knows nothing.
            signal.signal(number, handler)


def _limits() -> dict[int, tuple[int, int]]:
    return {kind: resource.getrlimit(kind) for name, kind in vars(resource).items() if name.startswith("RLIMIT_")}


def _set_limits(before: dict[int, tuple[int, int]]) -> None:
    for kind, (soft, hard) in before.items():
        try:
            resource.setrlimit(kind, (soft, hard))
        except (OSError, ValueError):  # Hard ones are raised by those alone who have the right to.
            resource.setrlimit(kind, (resource.getrlimit(kind)[1],) * 2)


def left_open() -> int:
    """How many files are open, where that is so many that the next test may find no room for its own; else zero."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        count = len(os.listdir("/proc/self/fd"))
    except OSError:  # Not even for this one.
        count = most
    return count if count > most // 2 else 0


def keep_from_successor() -> None:
    """Files that are open stay behind when the process begins anew, also such as a loader wanted to be inherited."""
    for descriptor in range(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0] if left_open() else 256):
        with contextlib.suppress(OSError):
            os.set_inheritable(descriptor, False)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # It has been removed.
        return ""


def _root_folder() -> tuple[int, int]:
    root = os.stat("/")
    return root.st_dev, root.st_ino


def _set_user(before: tuple[Any, ...]) -> None:
    """In the order in which somebody who still may does it: whoever has given up root has given up the rest."""
    users, groups, others = before
    os.setresuid(*users)
    os.setresgid(*groups)
    os.setgroups(others)


def _stays(_: Any) -> None:
    """Of what a process cannot undo."""


def _set_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


_PROCESS = (
    _Setting("working folder", _working_folder, os.chdir), _Setting("environment", lambda: dict(os.environ), _set_environment), _Setting("umask", _umask, os.umask),
    _Setting("timers", lambda: [signal.getitimer(one)[0] > 0 for one in _TIMERS], lambda _: [signal.setitimer(one, 0) for one in _TIMERS]),
    _Setting("signal handlers", _handlers, _set_handlers),
    _Setting("blocked signals", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()), lambda mask: signal.pthread_sigmask(signal.SIG_SETMASK, mask)),
    _Setting("priority", lambda: os.getpriority(os.PRIO_PROCESS, 0), lambda value: os.setpriority(os.PRIO_PROCESS, 0, value)),
    _Setting("user", lambda: (os.getresuid(), os.getresgid(), os.getgroups()), _set_user), _Setting("root folder", _root_folder, _stays),
    _Setting("resource limits", _limits, _set_limits), _Setting("processors", lambda: os.sched_getaffinity(0), lambda mask: os.sched_setaffinity(0, mask)))


# --- Python ------------------------------------------------------------------------------------------------------------------------------


def _meta_path(before: list[Any]) -> None:
    """Finders that a library adds stay: it would not add them a second time."""
    if any(one not in sys.meta_path for one in before):
        sys.meta_path[:] = before


_PYTHON = (
    _in_place("sys.path", lambda: sys.path), _Setting("sys.meta_path", lambda: list(sys.meta_path), _meta_path), _in_place("sys.path_hooks", lambda: sys.path_hooks),
    _Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit), _Setting("trace function", sys.gettrace, sys.settrace), _Setting("profile function", sys.getprofile, sys.setprofile),
    _Setting("trace function of threads", threading.gettrace, threading.settrace), _Setting("profile function of threads", threading.getprofile, threading.setprofile),
    _of(sys, "excepthook"), _Setting("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()), _Setting("collection thresholds", gc.get_threshold, lambda counts: gc.set_threshold(*counts)),
    _in_place("warnings.filters", lambda: warnings.filters), _of(warnings, "showwarning"), _Setting("logging.disable", lambda: logging.root.manager.disable, logging.disable),
    _Setting("locale", lambda: locale.setlocale(locale.LC_ALL), lambda name: locale.setlocale(locale.LC_ALL, name)),
    _Setting("start method of processes", lambda: multiprocessing.get_start_method(allow_none=True), lambda name: multiprocessing.set_start_method(name, force=True)),
    _of(tempfile, "tempdir"), _Setting("socket timeout", socket.getdefaulttimeout, socket.setdefaulttimeout), _in_place("gc.callbacks", lambda: gc.callbacks),
    _Setting("stack of threads", threading.stack_size, threading.stack_size), _Setting("switch interval", sys.getswitchinterval, sys.setswitchinterval),
    _Setting("numpy.seterr", numpy.geterr, lambda kinds: numpy.seterr(**kinds)))


# --- torch -------------------------------------------------------------------------------------------------------------------------------


def _flushes_denormals() -> bool:
    """torch has no word for it."""
    return bool((torch.full((1,), 1e-39) * 1.5 == 0).item())


def _autocast() -> tuple[Any, ...]:
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


def _set_autocast(before: tuple[Any, ...]) -> None:
    torch.set_autocast_enabled("cpu", before[0])
    torch.set_autocast_dtype("cpu", before[1])


def _modes(stack: Callable[[], list[Any]], pop: Callable[[], Any], name: str) -> _Setting:
    """Modes that were entered and never left; those that were there before lie below."""

    def write(before: list[Any]) -> None:
        while len(stack()) > len(before):
            pop()

    return _Setting(name, lambda: list(stack()), write, decides_numbers=True)


def _attention_kinds() -> list[bool]:
    return [torch._C._get_flash_sdp_enabled(), torch._C._get_mem_efficient_sdp_enabled(), torch._C._get_math_sdp_enabled()]


def _set_attention_kinds(before: list[bool]) -> None:
    for write, on in zip((torch._C._set_sdp_use_flash, torch._C._set_sdp_use_mem_efficient, torch._C._set_sdp_use_math), before, strict=True):
        write(on)


def _hooks(name: str) -> _Setting:
    """Of all modules there are."""
    return _in_place(name, lambda: getattr(torch.nn.modules.module, name), decides_numbers=True)


_TORCH = (
    _Setting("default dtype", torch.get_default_dtype, torch.set_default_dtype), _Setting("gradients", torch.is_grad_enabled, torch.set_grad_enabled), _Setting("threads", torch.get_num_threads, torch.set_num_threads),
    _Setting("deterministic algorithms", lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
             lambda before: torch.use_deterministic_algorithms(before[0], warn_only=before[1]), decides_numbers=True),
    _Setting("flushed denormals", _flushes_denormals, torch.set_flush_denormal, decides_numbers=True), _Setting("autocast", _autocast, _set_autocast, decides_numbers=True),
    _Setting("precision of products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, decides_numbers=True),
    _Setting("oneDNN", torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled, decides_numbers=True), _Setting("NNPACK", torch._C._get_nnpack_enabled, torch._C._set_nnpack_enabled, decides_numbers=True),
    _Setting("kinds of attention", _attention_kinds, _set_attention_kinds, decides_numbers=True), _Setting("engine of quantized layers", torch._C._get_qengine, torch._C._set_qengine, decides_numbers=True),
    _Setting("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    _modes(torch.overrides._get_current_function_mode_stack, torch.overrides._pop_mode, "function modes"),
    _modes(torch.utils._python_dispatch._get_current_dispatch_mode_stack, torch.utils._python_dispatch._pop_mode, "dispatch modes"),
    *(_hooks(name) for name in vars(torch.nn.modules.module) if name.startswith("_global_") and name.endswith(("_hooks", "_hooks_always_called", "_hooks_with_kwargs"))))

# Of torch's compiler, those that ways to a graph go by.
_CONFIGURATIONS = ("torch._dynamo.config", "torch._functorch.config", "torch.fx.experimental._config", "torch._export.config", "torch.compiler.config")


def _configurations() -> dict[str, dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: importlib.import_module(name).get_config_copy() for name in _CONFIGURATIONS}


def _set_configurations(before: dict[str, dict[str, Any]]) -> None:
    now = _configurations()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of options that are old: they are as they were.
        for name, values in before.items():
            for one, value in values.items():
                if now[name].get(one) != value:
                    setattr(sys.modules[name], one, value)


_COMPILER = (_Setting("options of torch's compiler", _configurations, _set_configurations),)


# --- all of them -------------------------------------------------------------------------------------------------------------------------


def numbers() -> list[Any]:
    """What decides the numbers that the framework computes, beside program and inputs."""
    return [one.read() for one in _TORCH if one.decides_numbers]


_not_put_back: set[str] = set()


def not_put_back() -> list[str]:
    """What a loader has done to the process for good; every later test of it would meet that."""
    return sorted(_not_put_back)


def _remains(setting: _Setting, value: Any) -> bool:
    try:
        return bool(setting.read() != value)
    except Exception:  # What cannot even be read is not as it was.
        return True


def _put_back(settings: tuple[_Setting, ...], before: list[Any]) -> None:
    for setting, value in zip(settings, before, strict=True):
        with contextlib.suppress(Exception):  # As far as the system lets us; the others must be put back all the same.
            if setting.read() != value:
                setting.write(value)


@contextlib.contextmanager
def restored(with_compiler: bool = True) -> Iterator[None]:
    """Puts back what a loader set, whatever it was: the next test must not meet it."""
    settings = _PROCESS + _PYTHON + _TORCH + (_COMPILER if with_compiler else ())
    before = [one.read() for one in settings]
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.settrace(None)  # First of all: it would be called for what follows.
        sys.setprofile(None)
        faulthandler.cancel_dump_traceback_later()  # It would end the process in somebody else's test; nobody can ask whether there is one.
        torch.set_default_device(None)  # A mode, too.
        _put_back(settings, before)
        _not_put_back.update(setting.name for setting, value in zip(_PROCESS, before) if _remains(setting, value))
        sys.stdin, sys.stdout, sys.stderr = (_usable(stream, number) for number, stream in enumerate(streams))


def _usable(stream: Any, number: int) -> Any:
    if stream is not None and not stream.closed:
        return stream
    return os.fdopen(number, "r" if number == 0 else "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
