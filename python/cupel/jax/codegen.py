"""codegen_py and codegen_cpp: a JAX function as standalone code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cupel.codegen import generate
from cupel.codegen import load_codegen_cpp as load_codegen_cpp
from cupel.codegen import load_codegen_py as load_codegen_py


def codegen_py(func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None,
               export_path: str | os.PathLike[str] = "codegen_result", export_tensors: bool = True, **kwargs: Any) -> None:  # fmt: skip
    """Writes `func`, as jax.jit lowers it for these arguments, as Python on NumPy into `export_path`."""
    _write("py", func, args, kwargs, compiler_options, export_path, export_tensors)


def codegen_cpp(func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None,
                export_path: str | os.PathLike[str] = "codegen_result", export_tensors: bool = True, **kwargs: Any) -> None:  # fmt: skip
    """The same as C++17, which a compiler builds and nothing else is needed for."""
    _write("cpp", func, args, kwargs, compiler_options, export_path, export_tensors)


def _write(language: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], compiler_options: Mapping[str, Any] | None,
           export_path: str | os.PathLike[str], export_tensors: bool) -> None:  # fmt: skip
    import jax
    import numpy as np

    # A function that is already jitted keeps what it says about its arguments; unused ones must stay.
    inner = getattr(func, "__wrapped__", func)
    lowered = jax.jit(inner, keep_unused=True).lower(*args, **kwargs)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((args, kwargs))]
    with tempfile.TemporaryDirectory(prefix="cupel-codegen-") as scratch:
        program = Path(scratch) / f"{getattr(inner, '__name__', 'program')}.mlir"
        program.write_text(lowered.as_text(debug_info=True))
        generate(language, program, export_path, export_tensors, compiler_options, leaves)
