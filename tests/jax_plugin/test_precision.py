"""precision=bf16: an f32 program's products with operands in bf16, asked for and told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

BF16 = {"precision": "bf16"}


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(jnp.bfloat16).astype(np.float64)


def note(compiled) -> str:
    costs = compiled.cost_analysis()
    return (costs[0] if isinstance(costs, list) else costs).get("precision", "")


def test_products_are_those_of_rounded_operands():
    x, w = sample(24, 160), sample(160, 40, seed=1)
    result = jax.jit(lambda x, w: x @ w, compiler_options=BF16)(x, w)
    assert result.dtype == np.float32
    exact, sizes = rounded(x) @ rounded(w), np.abs(rounded(x)) @ np.abs(rounded(w))
    assert np.max(np.abs(np.asarray(result) - exact) / sizes) <= 160 * 2.0**-24
    # And not those of f32, which is what nobody gets who asks for nothing.
    plain = np.asarray(jax.jit(lambda x, w: x @ w)(x, w))
    true = x.astype(np.float64) @ w.astype(np.float64)
    assert np.max(np.abs(plain - true) / sizes) <= 160 * 2.0**-24 < np.max(np.abs(np.asarray(result) - true) / sizes)


def test_who_asks_for_the_highest_keeps_f32():
    x, w = sample(16, 64), sample(64, 16, seed=1)
    product = jax.jit(lambda x, w: jnp.dot(x, w, precision="highest"))
    plain, asked = product(x, w), product.lower(x, w).compile(compiler_options=BF16)
    np.testing.assert_array_equal(np.asarray(plain), np.asarray(asked(x, w)))
    assert not note(asked)


def test_the_compiler_says_how_many_and_how():
    x, w = sample(16, 64), sample(64, 64, seed=1)
    compiled = jax.jit(lambda x, w: jnp.tanh(x @ w) @ w).lower(x, w).compile(compiler_options=BF16)
    said = note(compiled)
    assert said.startswith("bf16/f32, 2 products (") and any(how in said for how in ("emulated", "AVX512_BF16", "AMX_BF16"))


def test_what_it_does_not_take_is_refused():
    with pytest.raises(Exception, match="precision"):
        jax.jit(lambda x: x @ x, compiler_options={"precision": "tf32"})(sample(4, 4)).block_until_ready()
