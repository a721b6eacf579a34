"""A model with its inputs and what torch computes from them, ready for any device: cupel.torch.export(model, args)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from cupel._native import Module
from cupel.torch.arrays import from_array, to_array
from cupel.torch.backend import open_device
from cupel.torch.composites import drop_marks
from cupel.torch.options import Options, parse
from cupel.torch.program import make_program
from cupel.worker.instructions import settle_once


@dataclass
class Workload:
    """A program in StableHLO, its inputs (weights first, then the model's arguments) and the expected results."""

    name: str
    module: Module
    inputs: list[torch.Tensor]
    expected: list[torch.Tensor]
    input_names: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The program in StableHLO."""
        return self.module.text

    def run(self, options: Mapping[str, Any] | None = None) -> list[torch.Tensor]:
        """Runs on a device; options as for torch.compile's backend."""
        chosen: Options = parse(options)
        device = open_device(chosen)
        executable = device.compile(self.module.portable(device.stablehlo_version), chosen.compile_options, chosen.ordinal)
        return [from_array(result) for result in executable.run([to_array(tensor) for tensor in self.inputs])]

    def save(self, folder: str | Path) -> Path:
        """Writes a workload folder, which `cupel-device run` takes on any machine."""
        import safetensors.torch

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        (target / "program.mlirbc").write_bytes(self.module.portable())
        for file, tensors in (("inputs", self.inputs), ("expected", self.expected)):
            dense = {str(i): t.detach().resolve_conj().resolve_neg().contiguous().clone() for i, t in enumerate(tensors)}
            safetensors.torch.save_file(dense, target / f"{file}.safetensors")
        (target / "options.json").write_text(json.dumps({"name": self.name}) + "\n")
        return target


def export(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, *, name: str = "", composites: bool = True) -> Workload:
    """Exports a module or function with torch.export and lowers it to StableHLO.

    Results that the model writes into its buffers or inputs come first, as torch.export lists them; the expected values are
    torch's own on the CPU.
    """
    settle_once()
    args = tuple(args)
    if not isinstance(model, torch.nn.Module):
        function = model

        class Function(torch.nn.Module):
            def forward(self, *a: Any, **k: Any) -> Any:
                return function(*a, **k)

        model, name = Function(), name or getattr(function, "__name__", "function")
    with torch.no_grad():
        program = torch.export.export(model, args, dict(kwargs or {}), strict=False).run_decompositions({})
        state = {**program.state_dict, **program.constants}
        flat = iter(pytree.tree_leaves((args, dict(kwargs or {}))))
        given: list[Any] = []
        names: list[str] = []
        for spec in program.graph_signature.input_specs:
            value = next(flat) if spec.target is None else state[spec.target]
            names.append(spec.target or spec.arg.name)
            given.append(value)
        tensors = [value.detach().clone() for value in given if isinstance(value, torch.Tensor)]
        results = program.graph_module(*[v.clone() if isinstance(v, torch.Tensor) else v for v in given])
    if not composites:
        drop_marks(program.graph_module)
    made = make_program(program.graph_module)
    if made.constants:
        raise ValueError("the exported graph holds tensors outside its signature")
    module = Module.from_torch(made.text, {"composites": composites, "inputs": [list(t.shape) for t in tensors]})
    expected = [leaf.detach() for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
    return Workload(name or type(model).__name__, module, tensors, expected, [n for n, v in zip(names, given, strict=True) if isinstance(v, torch.Tensor)])
