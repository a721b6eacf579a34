"""A captured graph as a workload folder (docs/running-on-a-device.md): what the C++ side compiles, runs and judges."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cupel import __version__
from cupel._native import Module
from cupel.torch.graphs import Graph
from cupel.torch.shardings import Mesh, Spec, pieces
from cupel.torch.tensor_file import write_positions, write_tensors


@dataclass
class Placed:
    """A mesh, and how each input of a graph lies on it."""

    mesh: Mesh
    specs: list[Spec | None]


def lower(graph: Graph, placed: Placed | None = None) -> Module:
    """The graph in StableHLO, on its mesh where it has one."""
    return graph.lowered(shardings={"mesh": placed.mesh.axes, "inputs": placed.specs}) if placed else graph.lowered()


def _by_device(tensors: Sequence[torch.Tensor], placed: Placed | None) -> dict[str, torch.Tensor]:
    """By position where every device has the whole, else a piece a device."""
    named: dict[str, torch.Tensor] = {}
    for i, tensor in enumerate(tensors):
        spec = placed.specs[i] if placed else None
        if placed is None or spec is None:
            named[str(i)] = tensor
        else:
            named |= {f"d{device}/{i}": piece for device, piece in enumerate(pieces(tensor, spec, placed.mesh))}
    return named


def save_archive(folder: Path, graph: Graph) -> Path:
    """The graph as a .pt2 archive without values, for those who look at what it is made of."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "model.pt2", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("graph/models/model.json", graph.program.text)
    return folder


def save(folder: Path, name: str, graph: Graph, module: Module, tolerance: Mapping[str, Any], provenance: Mapping[str, Any],
         compile_options: Mapping[str, Any] | None = None, placed: Placed | None = None) -> None:
    """Writes beside the folder's place and moves it there when it is whole."""
    temporary = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        (temporary / "program.mlirbc").write_bytes(module.portable())
        write_tensors(temporary / "inputs.safetensors", _by_device(graph.inputs, placed))
        write_positions(temporary / "expected.safetensors", graph.expected)
        options = {"format": 1, "name": name} | ({"tolerance": dict(tolerance)} if tolerance else {}) | ({"expects_first": True} if graph.gives_more else {})
        options |= {"compile_options": dict(compile_options)} if compile_options else {}
        options |= {"partitions": placed.mesh.size, "use_spmd": True, "use_shardy": True} if placed else {}
        (temporary / "options.json").write_text(json.dumps(options, indent=1) + "\n")
        origin = {"format": 1} | {key: value for key, value in provenance.items() if value not in ("", None, [])}
        origin["versions"] = {"cupel": __version__, "torch": torch.__version__}
        origin["input_names"] = graph.input_names
        (temporary / "workload.json").write_text(json.dumps(origin, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
