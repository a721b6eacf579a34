"""Writes a workload folder (docs/reference/workload.md) from a program and numpy arrays: what the C++ side compiles, runs and judges."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cupel import __version__
from cupel.worker.array_file import by_device, write_arrays


@dataclass
class Contents:
    """A program with what goes in and what is expected, by device and position."""

    program: bytes
    inputs: Sequence[Sequence[Any]]
    expected: Sequence[Sequence[Any]]
    input_names: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """More of options.json: partitions and the like."""


def save(folder: Path, name: str, contents: Contents, tolerance: Mapping[str, Any], provenance: Mapping[str, Any], versions: Mapping[str, str],
         compile_options: Mapping[str, Any] | None = None) -> None:
    """Writes beside the folder's place and moves it there when it is whole."""
    temporary = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        (temporary / "program.mlirbc").write_bytes(contents.program)
        write_arrays(temporary / "inputs.safetensors", by_device(contents.inputs))
        if contents.expected:
            write_arrays(temporary / "expected.safetensors", by_device(contents.expected))
        options = {"format": 1, "name": name} | contents.options | ({"tolerance": dict(tolerance)} if tolerance else {})
        options |= {"compile_options": dict(compile_options)} if compile_options else {}
        (temporary / "options.json").write_text(json.dumps(options, indent=1) + "\n")
        origin = {"format": 1} | {key: value for key, value in provenance.items() if value not in ("", None)}
        origin["versions"] = {"cupel": __version__} | dict(versions)
        origin["input_names"] = contents.input_names
        (temporary / "workload.json").write_text(json.dumps(origin, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
