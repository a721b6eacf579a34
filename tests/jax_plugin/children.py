"""Runs a piece of Python in a process of its own, with the plugin registered."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

from conftest import PLUGIN

HERE = pathlib.Path(__file__).resolve().parent


def run(code: str, timeout: float = 120, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
    prologue = (f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
                f"from cupel_setup import register\nregister({str(PLUGIN)!r}, **{options!r})\n"
                "import jax, jax.numpy as jnp, numpy as np\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CUPEL_")}
    environment.update({"JAX_PLATFORMS": "cupel"}, **(env or {}))
    return subprocess.run([sys.executable, "-c", prologue + textwrap.dedent(code)], env=environment,
                          capture_output=True, text=True, timeout=timeout)


def check(code: str, **arguments) -> str:
    """What the code printed; it must end well."""
    done = run(code, **arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
