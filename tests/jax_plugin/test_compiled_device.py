"""The compiled device (backend cpu): saved executables, stages on disk, rewrites that are left out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable

CPU = {"backend": "cpu", "accumulate": "native"}


def model(x, w, b):
    y = jnp.tanh(x @ w + b)
    return jax.nn.softmax(y), jnp.sort(y, axis=0).sum(axis=1) + jnp.sum(x)


def arguments():
    values = np.random.default_rng(5)
    return [jnp.asarray(values.standard_normal(shape), dtype=jnp.float32) for shape in ((32, 48), (48, 24), (24,))]


def compiled(**options):
    return jax.jit(model).lower(*arguments()).compile(compiler_options=CPU | options)


def bits(results):
    return [np.asarray(result).tobytes() for result in results]


def analysis(executable):
    found = executable.cost_analysis()
    return found[0] if isinstance(found, list) else found


def test_saved_executables_give_equal_bits():
    first = compiled()
    assert "fallbacks" in analysis(first) or "kernels" in analysis(first)
    payload, in_tree, out_tree = serialize_executable.serialize(first)
    assert b"device program" in payload
    again = serialize_executable.deserialize_and_load(payload, in_tree, out_tree, execution_devices=jax.devices()[:1])
    assert bits(again(*arguments())) == bits(first(*arguments()))
    assert "dot_general" in again.as_text() or "dot" in again.as_text()
    # And once more from what was loaded.
    third = serialize_executable.deserialize_and_load(*serialize_executable.serialize(again), execution_devices=jax.devices()[:1])
    assert bits(third(*arguments())) == bits(first(*arguments()))


def test_stages_of_the_compiled_device(tmp_path):
    compiled(export_path=str(tmp_path))
    (folder,) = (tmp_path / "irs").iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {"vhlo.mlir", "shlo.mlir", "tensor.mlir", "device.mlir", "rewrites.txt"} <= names, names
    assert "tir.product" in (folder / "tensor.mlir").read_text()
    assert "dev.launch" in (folder / "device.mlir").read_text()
    assert any(name.startswith("tensor_form-") for name in names), names
    lines = (folder / "rewrites.txt").read_text().splitlines()
    assert lines[0].startswith("rewrite 1: pass ") and len(lines) > 3


def test_rewrites_are_counted_and_left_out():
    expected = compiled()(*arguments())
    whole = analysis(compiled(opt_bisect_limit=1 << 30))
    done, of, total = whole["rewrites"].split()
    assert done == total and of == "of" and int(total) > 3
    for limit in range(int(total) + 1):
        one = compiled(opt_bisect_limit=limit)
        found = analysis(one)
        assert found["rewrites"].startswith(f"{limit} of ")
        if limit:
            assert found["last_rewrite"].startswith(f"rewrite {limit}: pass ")
        for result, right in zip(one(*arguments()), expected, strict=True):
            np.testing.assert_allclose(np.asarray(result), np.asarray(right), rtol=1e-4, atol=1e-4)


def test_a_planted_rewrite_is_found():
    expected = compiled()(*arguments())

    def is_right(limit):
        results = compiled(opt_bisect_limit=limit, plant_wrong_rewrite=1)(*arguments())
        return all(np.allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-3) for a, b in zip(results, expected, strict=True))

    right, wrong = 0, int(analysis(compiled(opt_bisect_limit=1 << 30, plant_wrong_rewrite=1))["rewrites"].split()[2])
    assert is_right(right) and not is_right(wrong)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_right(middle):
            right = middle
        else:
            wrong = middle
    found = analysis(compiled(opt_bisect_limit=wrong, plant_wrong_rewrite=1))["last_rewrite"]
    assert "pass plant-wrong-rewrite, pattern commute at stablehlo.add" in found


@pytest.mark.parametrize(("name", "value"), [("opt_bisect_limit", -2), ("opt_bisect_limit", "many"), ("plant_wrong_rewrite", -1)])
def test_wrong_limits_are_refused(name, value):
    with pytest.raises(Exception, match=name):
        compiled(**{name: value})


def test_levels_reach_the_compiler_whichever_way_jax_sends_them():
    """JAX keeps `optimization_level` for XLA's efforts, and 0 of these for nothing said; with a dash it is any other option."""
    x = jnp.ones((4, 64))

    def kernels(options):
        return jax.jit(jax.nn.softmax).lower(x).compile(compiler_options=options).cost_analysis()["kernels"]

    assert kernels({"optimization_level": 1}) == kernels({"optimization_level": 2}) == "1 row"
    assert kernels({"optimization-level": 0}) == kernels({"optimization_level": 9}) != "1 row"
    with pytest.raises(Exception, match="'optimization_level' is 7; the most is 2"):
        kernels({"optimization_level": 7})
