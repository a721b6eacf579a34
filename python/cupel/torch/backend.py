"""torch.compile(model, backend="cupel"): Dynamo's graphs, made functional by AOTAutograd, lowered to StableHLO in C++ and run on
a PJRT device. Forward and backward graphs take the same way. A graph with symbolic sizes is compiled anew for each set of sizes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.utils._python_dispatch import _disable_current_modes

from cupel._files import plugin_path
from cupel._native import Array, Device, Executable, Module, RanOn, named_device, opened_device
from cupel.torch import weight_formats
from cupel.torch.arrays import from_array, to_array
from cupel.torch.composites import drop_marks, handle_composite_ops
from cupel.torch.fusion import registered, run_fusion_passes
from cupel.torch.options import Options, parse
from cupel.torch.program import Program, make_program


def open_device(options: Options) -> Device:
    """One client a plugin and set of options, kept for the process."""
    return opened_device(plugin_path() if options.device == "cupel" else options.device, options.client_options)


class CompiledGraph:
    """One graph on a device; holds an executable for each set of sizes it met."""

    def __init__(self, module: torch.fx.GraphModule, options: Options, name: str, marks: Mapping[str, str]) -> None:
        """`marks`: the formats of weights by the names of the graph's inputs."""
        self.program: Program = make_program(module)
        self.marks = marks
        self.options = options
        self.name = name
        self.inputs = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        with _disable_current_modes():  # Dynamo traces with fake tensors; these are real.
            self._constants = [to_array(constant) for constant in self.program.constants]
        self._executables: dict[tuple[Any, ...], Executable] = {}
        self._lock = threading.Lock()

    def module_for(self, given: Sequence[Any]) -> Module:
        """The graph in StableHLO, for inputs of these sizes."""
        sizes = [list(value.shape) if isinstance(value, torch.Tensor) else int(value) for value in (*given, *self.program.constants)]
        return Module.from_torch(self.program.text, {"composites": self.options.composites, "inputs": sizes})

    def _executable(self, given: Sequence[Any]) -> Executable:
        key = tuple(tuple(value.shape) if isinstance(value, torch.Tensor) else int(value) for value in given)
        with self._lock:
            if key not in self._executables:
                module = self.module_for(given)
                how = weight_formats.with_marks(self.options.compile_options, self.marks)
                if self.options.export_path and str(how.get("backend", "")).startswith("codegen_"):
                    how["export_path"] = self.options.export_path  # It gets the code, and nothing else.
                elif self.options.export_path:
                    folder = Path(self.options.export_path)
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{self.name}.{len(self._executables)}.stablehlo.mlir").write_text(module.text)
                    if self.options.device == "cupel":
                        how["export_path"] = str(folder)
                device = open_device(self.options)
                self._executables[key] = device.compile(module.portable(device.stablehlo_version), how, self.options.ordinal)
            return self._executables[key]

    def __call__(self, *given: Any) -> list[Any]:
        executable = self._executable(given)
        arrays = [to_array(value) for value in given if isinstance(value, torch.Tensor)]
        if _watching is not None:
            _watching.append(Call(self, given, [*arrays, *self._constants]))
        results = iter(executable.run([*arrays, *self._constants]))
        symbols = self._symbols(given)
        return [self._output(declared, results, symbols) for declared in self.program.outputs]

    def _symbols(self, given: Sequence[Any]) -> dict[Any, int]:
        """What each symbol of the graph stands for in this call."""
        known: dict[Any, int] = {}
        for declared, value in zip(self.inputs, given, strict=True):
            pairs = zip(declared.shape, value.shape, strict=True) if isinstance(value, torch.Tensor) else [(declared, value)]
            for symbol, number in pairs:
                if isinstance(symbol, torch.SymInt) and isinstance(symbol.node.expr, sympy.Symbol):
                    known[symbol.node.expr] = int(number)
        return known

    @staticmethod
    def _number(value: Any, symbols: Mapping[Any, int]) -> Any:
        return int(value.node.expr.subs(symbols)) if isinstance(value, torch.SymInt) else value

    def _output(self, declared: Any, results: Any, symbols: Mapping[Any, int]) -> Any:
        if not isinstance(declared, torch.Tensor):
            return self._number(declared, symbols)
        tensor = from_array(next(results))
        if declared.dtype is torch.complex32:  # Its parts are rounded already.
            tensor = tensor.to(declared.dtype)
        strides = tuple(self._number(s, symbols) for s in declared.stride())
        if tensor.numel() > 1 and strides != tensor.stride():
            # AOTAutograd makes views of results and counts on the strides it traced.
            strided = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
            tensor = strided.copy_(tensor)
        return tensor


@dataclass(frozen=True)
class Call:
    """A graph that ran, and what it ran with."""

    graph: CompiledGraph
    given: Sequence[Any]
    inputs: list[Array]

    def program(self) -> tuple[bytes, list[Array]]:
        """In StableHLO, with its inputs, for those who evaluate it again."""
        return self.graph.module_for(self.given).portable(), self.inputs

    def ran_on(self) -> RanOn:
        options = self.graph.options
        return RanOn(named_device(options.device, options.client_options), weight_formats.with_marks(options.compile_options, self.graph.marks))


_watching: list[Call] | None = None


@contextlib.contextmanager
def watched() -> Iterator[list[Call]]:
    """What runs meanwhile, in its order."""
    global _watching
    before, _watching = _watching, []
    try:
        yield _watching
    finally:
        _watching = before


_counter = iter(range(1 << 62))


def _compiler(kind: str, options: Options, marks: Sequence[str | None]) -> Callable[..., Any]:
    def compile_graph(module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        graph = CompiledGraph(module, options, f"graph{next(_counter)}.{kind}", weight_formats.marked_names(marks, module))
        if all(not isinstance(value, torch.SymInt) for value in example_inputs) and all(
            isinstance(size, int) for value in example_inputs if isinstance(value, torch.Tensor) for size in value.shape
        ):
            graph._executable(example_inputs)  # Errors belong to the compilation, not to the first call.
        return make_boxed_func(graph)

    return compile_graph


def backend(module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None) -> Callable[..., Any]:
    """The torch.compile backend `cupel`."""
    if mode not in (None, "default"):
        raise ValueError(f"backend 'cupel' has no modes; mode {mode!r} was asked for (options={{...}} is what it takes)")
    chosen = parse(options)
    if chosen.fusions:
        without = {name.strip() for name in chosen.without_fusions.split(",")} - {""}
        if unknown := sorted(without - set(registered())):
            raise ValueError(f"backend 'cupel': there is no fusion provider {unknown[0]!r}; there are {', '.join(registered())}")
        module = run_fusion_passes(module, without)
    if chosen.composites:
        handle_composite_ops(module)
    else:
        drop_marks(module)  # Those of modules came with the capture.
    decompositions = torch._decomp.core_aten_decompositions() if chosen.decompose else {}
    marks = weight_formats.marks_of(module, example_inputs)
    compiler = aot_autograd(
        fw_compiler=_compiler("forward", chosen, marks),
        bw_compiler=_compiler("backward", chosen, ()),
        inference_compiler=_compiler("inference", chosen, marks),
        decompositions=decompositions,
    )
    return compiler(module, example_inputs)
