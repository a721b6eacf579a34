"""The worker's loop: requests in, stages and results out, one test at a time."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
import traceback
import types
from typing import Any, Callable

from cupel import __version__
from cupel.worker import instructions, protocol


def _connect(options: argparse.Namespace) -> protocol.Connection:
    if not options.stdio:
        for descriptor in (options.requests, options.replies):
            os.set_inheritable(descriptor, False)
        return protocol.Connection(options.requests, options.replies)
    # What tests print must never get between the frames.
    requests, replies = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return protocol.Connection(requests, replies)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cupel.worker", description="Serves tests that need torch; started by `cupel run`.")
    parser.add_argument("--requests", type=int, help="descriptor to read requests from")
    parser.add_argument("--replies", type=int, help="descriptor to write replies to")
    parser.add_argument("--stdio", action="store_true", help="standard input and output are the two")
    parser.add_argument("--compile-backend", default="", help="what the tests are meant for; `cupel` leaves torch's own compiler out")
    parser.add_argument("--tensors", required=True, help="file in memory that tensors are handed over in")
    options = parser.parse_args(arguments)
    if not options.stdio and (options.requests is None or options.replies is None):
        parser.error("a worker is started by 'cupel run', which gives it --requests and --replies, or --stdio")
    return options


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


def _enter_stage(connection: protocol.Connection, number: str, stage: str) -> None:
    connection.send(f"stage {number} {stage}")


def _begin_again(output: int, arguments: list[str]) -> None:
    os.dup2(output, 1)
    os.environ[_WHOLE_TORCH] = "1"
    os.execv(sys.executable, [sys.executable, "-u", os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py"), *arguments])


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    # Before anything is connected: the import may begin the process again. What it prints must not get between the frames either.
    output = os.dup(1)
    os.dup2(2, 1)
    lowered = instructions.settle()
    try:
        torch = _import_torch(options.compile_backend, lambda: _begin_again(output, arguments))
    except ImportError:
        torch = None  # Said below, once there is somebody to say it to.
    os.dup2(output, 1)
    os.close(output)
    connection = _connect(options)
    hello: dict[str, Any] = {"protocol": protocol.VERSION, "worker": f"cupel.worker {__version__}", "python": sys.executable}
    try:
        if torch is None:
            import torch
        hello["torch"] = torch.__version__
        hello["instructions"] = lowered
        from cupel.worker.opcase import OpCases
        from cupel.worker.shared_tensors import SharedTensors
        cases = OpCases(SharedTensors(options.tensors))
    except ImportError as error:
        hello["missing"] = error.name or "torch"
        hello["why"] = str(error)
        connection.send("hello", hello)
        return 0
    connection.send("hello", hello)
    while (request := connection.receive()) is not None:
        (kind, number, *_), body = request
        if threads := body.get("threads"):
            torch.set_num_threads(threads)
        try:
            enter_stage = functools.partial(_enter_stage, connection, number)
            if kind == "test" and "case" in body:
                result: dict[str, Any] = cases.run(body["case"], body.get("compile_backend", "cupel"), enter_stage)
            elif kind == "test" and "model" in body:
                _complete_torch()
                from cupel.worker.model import run as run_model
                result = run_model(body["model"], enter_stage)
            else:
                result = {"outcome": "not run", "message": f"the Python worker knows no request '{kind}' of this form"}
        except MemoryError:
            result = {"outcome": "out of memory", "error_class": "out_of_memory", "message": "no memory was left in the Python worker"}
        except Exception as error:  # A mistake of ours must not take the next cases with it.
            traceback.print_exc()
            result = {"outcome": "failed", "error_class": "internal", "message": f"the Python worker: {type(error).__name__}: {' '.join(str(error).split())}"}
        if lowered:
            result.setdefault("notes", {})["torch_instructions"] = lowered
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(f"result {number}", result)
    # Torch takes its time to leave, and nothing is left to save.
    os._exit(0)
