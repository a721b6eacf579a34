"""Backends of torch.compile that stop on the way, and graphs saved for those who take them apart."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from cupel._native import NativeError
from cupel.testing.compiler_config import CompileDepth, CompilerConfig, IgnoredSetting
from cupel.torch import weight_formats
from cupel.torch.backend import CompiledGraph
from cupel.torch.backend import backend as whole_backend
from cupel.torch.options import parse

# Where stages of our own plugin have the forms that tt-torch's names stand for.
STAGES = {"STABLEHLO": "stablehlo", "TTIR": "tensor", "TTNN": "device"}


def backend_for(depth: CompileDepth, options: Mapping[str, Any], achieve: Callable[[str], None]) -> Callable[..., Any]:
    """The backend for a depth; what stops before the device runs the framework's own graph."""
    if depth is CompileDepth.EXECUTE:
        def execute(module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
            compiled = whole_backend(module, examples, options=options)
            achieve("STABLEHLO")
            achieve("TTNN_IR")
            return compiled

        return execute
    if depth is CompileDepth.TORCH_FX:
        return lambda module, examples: module.forward

    def compiler(marks: Sequence[str | None]) -> Callable[..., Any]:
        def compile_graph(module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
            graph = CompiledGraph(module, parse(options), "graph", weight_formats.marked_names(marks, module))
            graph.module_for(examples)
            achieve("STABLEHLO")
            if depth is CompileDepth.TTNN_IR:
                graph._executable(examples)
                achieve("TTNN_IR")
            return make_boxed_func(module.forward)

        return compile_graph

    def staged(module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        marks = weight_formats.marks_of(module, examples)
        return aot_autograd(fw_compiler=compiler(marks), bw_compiler=compiler(()), inference_compiler=compiler(marks),
                            decompositions=torch._decomp.core_aten_decompositions())(module, examples)

    return staged


def _stages(folder: Path, stage: str) -> list[Path]:
    found = [path for path in folder.rglob("*.mlir") if stage in re.split(r"[._-]", path.name.removesuffix(".mlir"))]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def save_stages(folder: Path, config: CompilerConfig, model: str) -> None:
    """The stages that were asked for as <model>_<dialect>.mlir, one graph after another."""
    target = Path(config.output_mlir_dir)
    target.mkdir(parents=True, exist_ok=True)
    for dialect in config.save_mlir_override or []:
        file = target / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', model)}_{dialect.lower()}.mlir"
        file.unlink(missing_ok=True)
        texts = [path.read_text() for path in _stages(folder, STAGES[dialect])]
        if texts:
            file.write_text("\n".join(texts))
        else:
            warnings.warn(IgnoredSetting(f"save_mlir_override: the device wrote no stage {dialect}"), stacklevel=4)


def print_stages(folder: Path) -> None:
    for path in _stages(folder, "stablehlo"):
        print(path.read_text(), file=sys.stderr)


def save_graphs(model: Any, run: Callable[[Any], Any], folder: Path, name: str) -> None:
    """The graphs of a model while `run` runs it, each a workload folder, or one with an archive where it cannot be lowered."""
    from cupel.torch.captured import _Recorder, _static_dynamo, decompositions
    from cupel.worker.model_files import lower, save, save_archive

    recorder = _Recorder(list(model.parameters()) if hasattr(model, "parameters") else [])
    backend = aot_autograd(fw_compiler=recorder, bw_compiler=recorder, inference_compiler=recorder, decompositions=decompositions())
    with _static_dynamo():
        run(torch.compile(model, backend=backend, dynamic=False))
    found = False
    for number, graph in enumerate(graph for graph in recorder.graphs if graph is not None and graph.computes):
        place = folder / f"graph-{number:02}"
        try:
            save(place, f"{name}#{number}", graph, lower(graph), {}, {"test": name, "part": number, "frontend": "torch"})
        except NativeError:
            save_archive(place, graph)
        found = True
    if not found:
        raise ValueError(f"{name}: torch.compile finds no graph in it that computes anything")
