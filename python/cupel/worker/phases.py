"""Runs loaders on the CPU as training would, in bfloat16 and in float32, and tells what happened at each step: the evidence of `cupel triage PROCEDURE`.

`python worker/__main__.py phases REQUEST OUT`: REQUEST is JSON with `zoo`, `tests` (each `loader`, `variant`, `batch_size`), `phases` (dtypes; `float32` lets the
loader decide) and `seconds`; OUT is the file the answer goes to, since loaders print what they like. Each phase has its own try: one that raises does not take
the next with it. Never edits anything and never judges.
"""

from __future__ import annotations

import dataclasses
import gc
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupel.worker import instructions, interrupts
from cupel.worker.loaders import arguments_of, call_named, choose_variant, import_class, instantiate


def _row(name: str, value: Any) -> dict[str, Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return {"name": name, "dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "floating": value.is_floating_point()}
    return {"name": name, "class": type(value).__name__}


def _children(value: Any) -> list[tuple[str, Any]]:
    """Names and values: of a mapping, a sequence, a result class with fields; none of anything else."""
    if isinstance(value, Mapping):
        return [(str(key), child) for key, child in value.items()]
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        return list(zip(names, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(one.name, getattr(value, one.name)) for one in dataclasses.fields(value)]
    return []


def _kind(inputs: Any) -> str:
    import torch

    return "single" if isinstance(inputs, torch.Tensor) else "mapping" if isinstance(inputs, Mapping) else "sequence" if isinstance(inputs, (list, tuple)) else "other"


def _strays(model: Any, dtype: Any) -> list[str]:
    """Floating parameters and buffers that are not of the dtype that was asked for."""
    return [name for name, tensor in [*model.named_parameters(), *model.named_buffers()] if tensor.is_floating_point() and dtype is not None and tensor.dtype != dtype]


class _Phase:
    def __init__(self, test: Mapping[str, Any], root: Path, dtype: str):
        self._test, self._root, self._dtype = test, root, dtype
        self.told: dict[str, Any] = {"dtype": dtype, "ok": False, "step": "import"}

    def run(self) -> dict[str, Any]:
        try:
            self._steps()
            self.told["ok"] = True
        except BaseException as error:  # Also SystemExit: a loader may do anything.
            if interrupts.came(error):
                raise
            self.told |= {"error_class": type(error).__name__, "error": str(error), "traceback": "".join(traceback.format_exception(error))[-20000:]}
        gc.collect()
        return self.told

    def _steps(self) -> None:
        import torch

        from cupel.torch.structure import describe

        torch.manual_seed(0)
        dtype = None if self._dtype == "float32" else getattr(torch, self._dtype)
        loader_class = import_class(self._root, Path(self._test["loader"]))
        loader = instantiate(loader_class, choose_variant(loader_class, self._test.get("variant", "")), {})
        self.told["step"] = "load_model"
        model = call_named(loader.load_model, dtype_override=dtype)
        model.train()
        self.told["signature"] = [name for name, parameter in inspect.signature(model.forward).parameters.items()
                                  if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)]
        self.told["strays"] = _strays(model, dtype)
        start = getattr(getattr(model, "config", None), "decoder_start_token_id", None)
        if isinstance(start, int):
            self.told["decoder_start_token_id"] = start
        self.told["step"] = "load_inputs"
        inputs = call_named(loader.load_inputs, dtype_override=dtype, batch_size=self._test.get("batch_size") or 2)
        args, kwargs = arguments_of(inputs)
        self.told["inputs"] = {"kind": _kind(inputs), "items": [_row("", inputs)] if _kind(inputs) == "single" else [_row(*pair) for pair in _children(inputs)]}
        self.told["step"] = "forward"
        output = model(*args, **kwargs)
        self.told["output"] = {"class": type(output).__name__, "module": type(output).__module__, "tensor": isinstance(output, torch.Tensor),
                               "bare": type(output) in (list, tuple, dict), "structure": describe(output), "items": [_row(*pair) for pair in _children(output)]}
        self.told["step"] = "unpack"
        unpacked = loader.unpack_forward_output(output)
        self.told["unpacked"] = type(unpacked).__name__
        self.told["unpacked_tensor"] = isinstance(unpacked, torch.Tensor)
        if isinstance(unpacked, torch.Tensor):
            self.told["step"] = "backward"
            unpacked.backward(gradient=torch.randn(unpacked.shape, dtype=unpacked.dtype))
        self.told["step"] = "done"


def main(arguments: list[str]) -> int:
    request, out = json.loads(arguments[0]), Path(arguments[1])
    instructions.settle()
    interrupts.listen()
    answer: dict[str, Any] = {"tests": []}

    def write() -> None:
        beside = out.with_suffix(".partial")
        beside.write_text(json.dumps(answer))
        os.replace(beside, out)

    def give_up() -> None:
        answer["stopped"] = f"no end within {request['seconds']} s"
        write()
        os._exit(124)

    clock = threading.Timer(request.get("seconds", 600), give_up)
    clock.daemon = True
    clock.start()
    for test in request["tests"]:
        told: dict[str, Any] = {"variant": test.get("variant", ""), "phases": []}
        answer["tests"].append(told)
        for dtype in request.get("phases", ["bfloat16", "float32"]):
            told["phases"].append(_Phase(test, Path(request["zoo"]), dtype).run())
    clock.cancel()
    write()
    sys.stdout.flush()
    os._exit(0)  # Torch takes its time to leave, and nothing is left to save.
