#!/usr/bin/env python3
"""Builds a custom-call handler in C++ (scaled_sum.cpp), registers it for the platform and calls it from jitted code."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cupel,cpu")

import ctypes  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import cupel.jax  # noqa: E402

cupel.jax.initialize()

import jax  # noqa: E402
import numpy as np  # noqa: E402

HERE = Path(__file__).resolve().parent


def build(folder: Path) -> ctypes.CDLL:
    library = folder / "libscaled_sum.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", HERE / "scaled_sum.cpp", "-o", library], check=True)
    return ctypes.CDLL(str(library))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))  # Stays loaded when the file is gone.
    jax.ffi.register_ffi_target("scaled_sum", jax.ffi.pycapsule(library.ScaledSum), platform="cupel")

    def scaled_sum(a: jax.Array, b: jax.Array, scale: float) -> jax.Array:
        return jax.ffi.ffi_call("scaled_sum", jax.ShapeDtypeStruct(a.shape, a.dtype), vmap_method="broadcast_all")(a, b, scale=np.float32(scale))

    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    result = jax.jit(lambda a, b: scaled_sum(a, b, 0.5) + 1)(a, b)
    np.testing.assert_array_equal(result, 0.5 * (a + b) + 1)
    np.testing.assert_array_equal(jax.vmap(lambda a, b: scaled_sum(a, b, 2))(a, b), 2 * (a + b))
    print("the handler computes what NumPy does, in jit and in vmap")
    try:
        scaled_sum(a.astype(np.int32), b.astype(np.int32), 1).block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        assert "expected F32 but got S32" in str(error), error
        print("it is given no other types than it asks for")
    else:
        raise AssertionError("integers should have been refused")
    try:
        scaled_sum(a, b[:1], 1).block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        assert str(error).startswith("INVALID_ARGUMENT") and "tensors of one size" in str(error), error
        print(f"its error reaches the caller: {str(error).splitlines()[0]}")
    else:
        raise AssertionError("tensors of two sizes should have been refused")


if __name__ == "__main__":
    main()
