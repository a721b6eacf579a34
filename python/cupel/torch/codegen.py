"""codegen_py and codegen_cpp: a PyTorch module as standalone code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from cupel.codegen import generate
from cupel.codegen import load_codegen_cpp as load_codegen_cpp
from cupel.codegen import load_codegen_py as load_codegen_py


def codegen_py(model: torch.nn.Module, *args: Any, compiler_options: Mapping[str, Any] | None = None,
               export_path: str | os.PathLike[str] = "codegen_result", export_tensors: bool = True, **kwargs: Any) -> None:  # fmt: skip
    """Writes `model`, as torch.export sees it for these arguments, as Python on NumPy into `export_path`."""
    _write("py", model, args, kwargs, compiler_options, export_path, export_tensors)


def codegen_cpp(model: torch.nn.Module, *args: Any, compiler_options: Mapping[str, Any] | None = None,
                export_path: str | os.PathLike[str] = "codegen_result", export_tensors: bool = True, **kwargs: Any) -> None:  # fmt: skip
    """The same as C++17, which a compiler builds and nothing else is needed for."""
    _write("cpp", model, args, kwargs, compiler_options, export_path, export_tensors)


def _write(language: str, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], compiler_options: Mapping[str, Any] | None,
           export_path: str | os.PathLike[str], export_tensors: bool) -> None:  # fmt: skip
    exported = torch.export.export(model, args, kwargs)
    inputs = [leaf.detach().cpu().numpy() for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    with tempfile.TemporaryDirectory(prefix="cupel-codegen-") as scratch:
        archive = Path(scratch) / f"{type(model).__name__}.pt2"
        torch.export.save(exported, archive)
        generate(language, archive, export_path, export_tensors, compiler_options, inputs)
