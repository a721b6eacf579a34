"""Recorded programs through JAX: the option enable_trace, what its cost analysis counts, donated arguments, what cannot be recorded."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

TRACED = {"enable_trace": True}


def both(function, *arguments, **kinds):
    """The same program without a trace and with one."""
    lowered = jax.jit(function, **kinds).lower(*arguments)
    return lowered.compile(), lowered.compile(compiler_options=TRACED)


def layers(x, w):
    for _ in range(4):
        x = jnp.tanh(x @ w) + x.mean(-1, keepdims=True)
    return x, x.sum()


def loop(x, n):
    return jax.lax.while_loop(lambda c: c[1] < n, lambda c: (jnp.sin(c[0]) * 2, c[1] + 1), (x, 0))


def branch(x, n):
    return jax.lax.switch(n % 3, [jnp.sin, jnp.cos, lambda y: -y], x)


@pytest.mark.parametrize(("function", "make"), [
    (layers, lambda r: (r.standard_normal((5, 16)).astype(np.float32), r.standard_normal((16, 16)).astype(np.float32))),
    (loop, lambda r: (r.standard_normal(9).astype(np.float32), np.int32(r.integers(0, 6)))),
    (branch, lambda r: (r.standard_normal(9).astype(np.float32), np.int32(r.integers(0, 6)))),
    (jax.grad(lambda x, w: layers(x, w)[1]), lambda r: (r.standard_normal((5, 16)).astype(np.float32), r.standard_normal((16, 16)).astype(np.float32))),
])  # fmt: skip
def test_replays_give_the_same_bits(function, make):
    random = np.random.default_rng(0)
    plain, traced = both(function, *make(random))
    held = []
    for _ in range(6):
        arguments = make(random)
        expected, got = plain(*arguments), traced(*arguments)
        jax.tree.map(np.testing.assert_array_equal, jax.device_get(expected), jax.device_get(got))
        held.append((jax.device_get(expected), got))
    for expected, got in held:  # What is held is not overwritten.
        jax.tree.map(np.testing.assert_array_equal, expected, jax.device_get(got))
    said = traced.cost_analysis()
    assert said["trace"].startswith("recorded at the second run: ")
    assert said["trace runs"].startswith("1 missed, 1 recorded, 5 replayed,"), said["trace runs"]
    assert "trace" not in plain.cost_analysis()


def test_donated_arguments():
    step = lambda w, g: (w - 0.125 * g, (w * g).sum())  # noqa: E731
    w, g = jnp.arange(4000, dtype=jnp.float32), jnp.ones(4000, jnp.float32)
    plain, traced = both(step, w, g, donate_argnums=0)
    a, b = jnp.array(w), jnp.array(w)
    for _ in range(6):
        (a, s), (b, t) = plain(a, g), traced(b, g)
        assert s == t
    np.testing.assert_array_equal(a, b)


def test_other_shapes_are_other_programs():
    function = jax.jit(lambda x: jnp.exp(x) * 2, compiler_options=TRACED)
    for _ in range(3):
        for size in (3, 8, 100):
            x = np.linspace(-1, 1, size, dtype=np.float32)
            np.testing.assert_array_equal(function(x), jax.jit(lambda x: jnp.exp(x) * 2)(x))


def test_what_cannot_be_recorded_is_named(capfd):
    x = np.eye(3, dtype=np.float32)
    compiled = jax.jit(lambda a: jax.lax.linalg.cholesky(a) + 1).lower(x).compile(compiler_options=TRACED)
    said = compiled.cost_analysis()["trace"]
    assert said.startswith("not recorded: stablehlo."), said
    assert "runs on the golden reference" in said
    assert said in capfd.readouterr().err
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), x + 1)
    with pytest.raises(Exception, match="cannot be recorded.*stablehlo"):
        jax.jit(lambda a: jax.lax.linalg.cholesky(a) + 1).lower(x).compile(compiler_options={**TRACED, "strict": True})


def test_a_value_that_is_none_is_refused():
    with pytest.raises(Exception, match="enable_trace"):
        jax.jit(jnp.sin).lower(np.float32(1)).compile(compiler_options={"enable_trace": "perhaps"})
