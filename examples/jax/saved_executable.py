#!/usr/bin/env python3
"""Compiles a program, saves the executable, loads it in another process, and compares what both compute."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cupel,cpu")

import pickle  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import cupel.jax  # noqa: E402

cupel.jax.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import serialize_executable  # noqa: E402


def program(x: jax.Array, scale: jax.Array) -> dict[str, jax.Array]:
    return {"norm": jnp.sqrt((x * x).sum()), "scaled": jnp.sort(x) * scale}


def inputs() -> tuple[np.ndarray, np.float32]:
    return np.random.default_rng(0).standard_normal(1000, np.float32), np.float32(3)


def load(path: Path) -> None:
    compiled = serialize_executable.deserialize_and_load(*pickle.loads(path.read_bytes()))
    results = compiled(*inputs())
    np.savez(path.with_suffix(".npz"), **{name: np.asarray(value) for name, value in results.items()})
    print(f"process {os.getpid()} loaded {path.stat().st_size} bytes and ran them without tracing or lowering")


def main() -> None:
    if len(sys.argv) > 1:
        return load(Path(sys.argv[1]))
    compiled = jax.jit(program).lower(*inputs()).compile()
    expected = compiled(*inputs())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.cupel"
        path.write_bytes(pickle.dumps(serialize_executable.serialize(compiled)))
        print(f"process {os.getpid()} saved the executable", flush=True)
        subprocess.run([sys.executable, __file__, str(path)], check=True)
        with np.load(path.with_suffix(".npz")) as results:
            for name, value in expected.items():
                np.testing.assert_array_equal(results[name], value, err_msg=name)
    print(f"both computed the same {', '.join(expected)}, bit for bit")


if __name__ == "__main__":
    main()
