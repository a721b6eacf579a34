"""codegen_py: a JAX function as standalone code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cupel.codegen import generate
from cupel.codegen import load_codegen_py as load_codegen_py


def codegen_py(func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None,
               export_path: str | os.PathLike[str] = "codegen_result", export_tensors: bool = True, **kwargs: Any) -> None:  # fmt: skip
    """Writes `func`, as jax.jit lowers it for these arguments, as Python on NumPy into `export_path`."""
    import jax
    import numpy as np

    # A function that is already jitted keeps what it says about its arguments; unused ones must stay.
    inner = getattr(func, "__wrapped__", func)
    lowered = jax.jit(inner, keep_unused=True).lower(*args, **kwargs)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((args, kwargs))]
    with tempfile.TemporaryDirectory(prefix="cupel-codegen-") as scratch:
        program = Path(scratch) / f"{getattr(inner, '__name__', 'program')}.mlir"
        program.write_text(lowered.as_text(debug_info=True))
        generate("py", program, export_path, export_tensors, compiler_options, leaves)
