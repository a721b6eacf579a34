"""Standalone code by compile options alone, as the guide of code generation has it without codegen_py."""

from __future__ import annotations

import json

import children
import numpy as np


def test_the_first_run_writes_the_code(tmp_path):
    out = children.check(f"""
        f = lambda w, x: jnp.tanh(x @ w)
        w, x = jnp.full((3, 2), 0.5), jnp.arange(6.0).reshape(2, 3)
        options = {{"backend": "codegen_py", "export_path": {str(tmp_path / "model")!r}}}
        print(jax.jit(f, compiler_options=options)(w, x).tolist())
        jax.jit(lambda x: x + 1, compiler_options=options)(x)
        jax.jit(lambda x: x * 2, compiler_options={{"backend": "codegen_cpp", "export_path": {str(tmp_path / "ones")!r}, "export_tensors": False}})(x)
    """)
    from cupel.codegen import load_codegen_py

    np.testing.assert_allclose(load_codegen_py(tmp_path / "model")()[0], json.loads(out), rtol=1e-6)
    assert (tmp_path / "model-2/main.py").is_file()  # Another program has a folder of its own.
    assert (tmp_path / "ones/main.cpp").is_file() and not (tmp_path / "ones/tensors").exists()


def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path):
    out = children.check(f"""
        def attempt(f, **options):
            try:
                jax.jit(f, compiler_options=options)(jnp.ones(3))
                print("taken")
            except Exception as error:
                print(str(error).splitlines()[0])
        attempt(lambda x: x - 1, backend="codegen_py")
        attempt(lambda x: x - 1, backend="codegen_rs", export_path="x")
        call = lambda x: jax.pure_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct((3,), jnp.float32), x)
        attempt(call, backend="codegen_py", export_path={str(tmp_path / "no")!r})
    """).splitlines()
    assert "'export_path' must say where the backend codegen_py writes" in out[0], out
    assert "the nearest is 'codegen_" in out[1], out
    assert "custom_call" in out[2], out
    assert not (tmp_path / "no").exists()
