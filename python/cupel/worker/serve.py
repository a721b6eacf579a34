"""The worker's loop: requests in, stages and results out, one test at a time."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import traceback
import types
from time import monotonic  # Its own name: a loader may replace it elsewhere.
from typing import Any, Callable

from cupel import __version__
from cupel.worker import instructions, protocol


def _connect(options: argparse.Namespace) -> protocol.Connection:
    for descriptor in (options.requests, options.replies):
        os.set_inheritable(descriptor, False)
    return protocol.Connection(options.requests, options.replies)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cupel.worker", description="Serves tests that need torch; started by `cupel run`.")
    parser.add_argument("--requests", type=int, required=True, help="descriptor to read requests from")
    parser.add_argument("--replies", type=int, required=True, help="descriptor to write replies to")
    parser.add_argument("--compile-backend", default="", help="what the tests are meant for; `cupel` leaves torch's own compiler out")
    return parser.parse_args(arguments)


def _unfinished() -> Any:
    """The request that this process has begun anew for, if any."""
    if (descriptor := os.environ.pop(_UNFINISHED, None)) is None:
        return None
    with os.fdopen(int(descriptor), "r") as file:
        file.seek(0)
        return json.load(file)


class _Unused(types.ModuleType):
    """Stands for a part of torch that calls on the CPU never reach."""

    __path__: list[str] = []


def _import_torch(backend: str, begin_again: Callable[[], None]) -> types.ModuleType:
    """Importing torch is most of what a short run costs, and a quarter of that are parts of its compiler: shape rules in Python and the exporter.

    Where no backend of torch.compile is wanted they are left out. Should a torch not do without them, the worker begins again with all of it.
    """
    if backend != "cupel" or "torch" in sys.modules or _WHOLE_TORCH in os.environ:
        import torch
        return torch
    unused = ("torch._meta_registrations", "torch.export")
    sys.modules.update((name, _Unused(name)) for name in unused)
    try:
        import torch
        torch.add(torch.ones(2), 1)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise
        begin_again()
    except Exception:
        begin_again()
    return torch


_WHOLE_TORCH = "CUPEL_WORKER_WHOLE_TORCH"


def _complete_torch() -> None:
    """Imports the parts that were left out: models are exported."""
    left_out = [name for name in ("torch._meta_registrations", "torch.export") if isinstance(sys.modules.get(name), _Unused)]
    for name in left_out:
        del sys.modules[name]
    for name in left_out:
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[parent], last, importlib.import_module(name))


# The runner has been greeted: what begins again in the middle of a run goes on with the next request.
_GREETED = "CUPEL_WORKER_GREETED"
# The descriptor of a file with the request that a process begins anew for.
_UNFINISHED = "CUPEL_WORKER_UNFINISHED"


def _begin_anew(options: argparse.Namespace, arguments: list[str], environment: dict[str, str], unfinished: Any = None) -> None:
    """The same process with a torch that nobody has touched; requests wait in the pipe meanwhile. One that is unfinished is served first."""
    from cupel.worker import surroundings

    kept = [options.requests, options.replies]
    os.environ.clear()
    os.environ.update(environment | {_GREETED: "1"})
    if unfinished:
        with tempfile.TemporaryFile() as file:
            kept.append(os.dup(file.fileno()))
        with os.fdopen(os.dup(kept[-1]), "w") as file:
            json.dump(unfinished, file)
        os.environ[_UNFINISHED] = str(kept[-1])
    surroundings.keep_from_successor()
    for descriptor in kept:
        os.set_inheritable(descriptor, True)
    _begin_again(arguments)


def _begin_again(arguments: list[str]) -> None:
    os.environ[_WHOLE_TORCH] = "1"
    os.execv(sys.executable, [sys.executable, "-u", os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py"), *arguments])


# Of processes that torch and Python keep from test to test: workers of torch's compiler, trackers of multiprocessing.
_KEPT = (b"torch/_inductor", b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


def _processes_below() -> list[int]:
    """Those the runner must let live; whatever else a test started ends with it."""
    found: list[int] = []
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:  # The test left no file that could be opened: the worker begins anew, and needs none of them.
        return found
    for thread in threads:
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    command = file.read()
                if any(word in command for word in _KEPT):
                    found.append(int(child))
        except OSError:  # It has ended meanwhile.
            continue
    return found


def _seconds_of(entered: list[tuple[str, float]]) -> list[dict[str, Any]]:
    """How long each stage was, by our own clock: the runner may read of two at once, and would take the first for no time."""
    seconds: dict[str, float] = {}
    for (stage, began), (_, ended) in zip(entered, [*entered[1:], ("", monotonic())], strict=True):
        seconds[stage] = seconds.get(stage, 0.0) + ended - began
    return [{"stage": stage, "seconds": spent} for stage, spent in seconds.items()]


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    hello: dict[str, Any] = {"protocol": protocol.VERSION, "worker": f"cupel.worker {__version__}"}
    lowered = instructions.settle()
    try:
        # Before anything is connected: the import may begin the process again.
        torch = _import_torch(options.compile_backend, lambda: _begin_again(arguments))
        from cupel.worker.opcase import OpCases
        from cupel.worker.shared_tensors import SharedTensors
    except ImportError as error:
        package = error.name or "torch"
        hello["unusable"] = (f"needs the Python package '{package}', which {sys.executable} lacks ({error}): install it with "
                             f"'{sys.executable} -m pip install {package}', or name another interpreter with --python or CUPEL_PYTHON")
        _connect(options).send("hello", hello)
        return 0
    connection = _connect(options)
    cases = OpCases(SharedTensors())
    unfinished = _unfinished()
    environment = dict(os.environ)
    if os.environ.pop(_GREETED, None) is None:
        connection.send("hello", hello)
    as_it_was: Any = None  # Of frameworks and Python, before the first loader.
    while (request := unfinished or connection.receive()) is not None:
        unfinished = None
        (kind, number, *_), body = request

        entered: list[tuple[str, float]] = []

        def enter_stage(stage: str, number: str = number, entered: list[tuple[str, float]] = entered) -> None:
            entered.append((stage, monotonic()))
            connection.send(f"stage {number} {stage}")

        if threads := body.get("threads"):
            torch.set_num_threads(threads)
        backend = body.get("compile_backend") or "cupel"
        notes = {"torch": torch.__version__} | ({"backend": backend} if backend != "cupel" else {}) | ({"torch_instructions": lowered} if lowered else {})
        try:
            if kind == "test" and "case" in body.get("handover", {}):
                enter_stage("load")
                result: dict[str, Any] = cases.run(body["handover"]["case"], backend, body["tensors"], enter_stage)
            elif kind == "test" and "model" in body:
                _complete_torch()
                from cupel.worker.model import run as run_model
                result = run_model(body["model"], enter_stage)
            elif kind == "test" and "model_path" in body:
                _complete_torch()
                from cupel.worker.model import run_test
                from cupel.worker.patches import watched

                as_it_was = watched()
                result = run_test(body, enter_stage)
            else:
                result = {"outcome": "not run", "message": f"the Python worker knows no request '{kind}' of this form"}
        except MemoryError:
            result = {"outcome": "out of memory", "error_class": "out_of_memory", "message": "no memory was left in the Python worker"}
        except protocol.RunFirst:
            _begin_anew(options, arguments, environment, request)
        except Exception as error:  # A mistake of ours must not take the next cases with it.
            traceback.print_exc()
            result = {"outcome": "failed", "error_class": "internal", "message": f"the Python worker: {type(error).__name__}: {' '.join(str(error).split())}"}
        replaced, left_open, not_put_back = as_it_was.left() if as_it_was else ([], 0, [])  # Before anything else needs a file.
        if left_open and not not_put_back:
            notes["left open"] = f"{left_open} files: the worker began anew"
        if not_put_back:
            notes["not put back"] = f"{', '.join(not_put_back)}: the worker ended, and another one goes on"
        if replaced:
            notes["replaced"] = ", ".join(replaced[:8]) + (", ..." if len(replaced) > 8 else "")
        result["notes"] = notes | result.get("notes", {})
        if entered:
            result["stages"] = _seconds_of(entered)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(" ".join(["result", number, *map(str, _processes_below())]), result)
        if not_put_back:  # A process that begins anew would inherit it; the runner's next one does not.
            break
        if replaced or left_open:
            _begin_anew(options, arguments, environment)
    # Torch takes its time to leave, and nothing is left to save.
    os._exit(0)
