"""grad, vmap, scan, while, cond and friends, against NumPy or plain Python."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


@pytest.mark.parametrize("function, derivative", [
    (jnp.sin, np.cos), (jnp.exp, np.exp), (jnp.tanh, lambda x: 1 - np.tanh(x) ** 2), (jnp.log, lambda x: 1 / x),
    (jnp.sqrt, lambda x: 0.5 / np.sqrt(x)), (lambda x: x ** 3, lambda x: 3 * x ** 2),
    (jax.nn.sigmoid, lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2)])
def test_grad(function, derivative):
    x = np.linspace(0.3, 2, 7).astype(np.float32)
    np.testing.assert_allclose(np.asarray(jax.vmap(jax.grad(function))(x)), derivative(x), rtol=2e-5)


def test_second_derivative():
    np.testing.assert_allclose(jax.grad(jax.grad(lambda x: x ** 4))(2.0), 48, rtol=1e-5)


def test_jacobian_and_hessian():
    f = lambda x: jnp.stack([x[0] * x[1], x[1] ** 2])
    x = jnp.array([2.0, 3.0])
    np.testing.assert_allclose(np.asarray(jax.jacfwd(f)(x)), [[3, 2], [0, 6]])
    np.testing.assert_allclose(np.asarray(jax.jacrev(f)(x)), [[3, 2], [0, 6]])
    np.testing.assert_allclose(np.asarray(jax.hessian(lambda x: x[0] ** 2 * x[1])(x)), [[6, 4], [4, 0]])


def test_jvp_vjp_linearize():
    value, tangent = jax.jvp(jnp.sin, (1.0,), (2.0,))
    np.testing.assert_allclose([value, tangent], [np.sin(1), 2 * np.cos(1)], rtol=1e-6)
    value, pull = jax.vjp(jnp.cos, 1.0)
    np.testing.assert_allclose(pull(1.0)[0], -np.sin(1), rtol=1e-6)
    value, push = jax.linearize(jnp.exp, 0.5)
    np.testing.assert_allclose(push(2.0), 2 * np.exp(0.5), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_vmap_axes(axis):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    result = jax.vmap(lambda v: v.sum(), in_axes=axis)(x)
    np.testing.assert_array_equal(np.asarray(result), x.sum(axis=tuple(i for i in range(3) if i != axis)))


def test_vmap_of_matmul():
    a = np.random.default_rng(0).standard_normal((5, 3, 4)).astype(np.float32)
    b = np.random.default_rng(1).standard_normal((5, 4, 2)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(jax.vmap(jnp.matmul)(a, b)), a @ b, rtol=1e-5)


def test_scan():
    total, running = lax.scan(lambda c, x: (c + x, c * x), 0, jnp.arange(1, 6))
    assert total == 15
    np.testing.assert_array_equal(np.asarray(running), [0, 2, 9, 24, 50])


def test_scan_reverse_and_grad():
    f = lambda x: lax.scan(lambda c, v: (c * v, c), 1.0, x, reverse=True)[0]
    x = jnp.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(np.asarray(jax.grad(f)(x)), [12, 8, 6])


def test_while_loop():
    assert lax.while_loop(lambda v: v[0] < 100, lambda v: (v[0] * 2, v[1] + 1), (1, 0))[1] == 7


def test_while_with_array_state():
    result = lax.while_loop(lambda v: v.sum() < 50, lambda v: v + jnp.arange(3), jnp.zeros(3, jnp.int32))
    np.testing.assert_array_equal(np.asarray(result), [0, 17, 34])


@pytest.mark.parametrize("count", [0, 1, 10])
def test_fori_loop(count):
    assert lax.fori_loop(0, count, lambda i, v: v + i, 0) == sum(range(count))


@pytest.mark.parametrize("choice", [True, False])
def test_cond(choice):
    assert lax.cond(choice, lambda x: x + 1, lambda x: x - 1, 5) == (6 if choice else 4)


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch(index):
    branches = [lambda x: x, lambda x: x * 10, lambda x: x * 100]
    assert lax.switch(index, branches, 3) == 3 * 10 ** min(max(index, 0), 2)


def test_cond_under_vmap_and_grad():
    f = lambda x: lax.cond(x > 0, lambda v: v ** 2, lambda v: -v, x)
    np.testing.assert_allclose(np.asarray(jax.vmap(jax.grad(f))(jnp.array([-1.0, 2.0]))), [-1, 4])


def test_map_and_associative_scan():
    np.testing.assert_array_equal(np.asarray(lax.map(lambda x: x ** 2, jnp.arange(5))), np.arange(5) ** 2)
    np.testing.assert_array_equal(np.asarray(lax.associative_scan(jnp.add, jnp.arange(9))), np.cumsum(np.arange(9)))


def test_custom_vjp():
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 100,))
    assert jax.grad(f)(1.0) == 100


def test_checkpoint():
    f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    np.testing.assert_allclose(jax.grad(f)(1.0), np.cos(np.sin(1)) * np.cos(1), rtol=1e-6)


@functools.partial(jax.jit, static_argnums=1)
def power(x, n):
    return x ** n


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_static_arguments(n):
    assert power(3, n) == 3 ** n


def test_nested_jit_and_closure():
    scale = jnp.array(3.0)
    inner = jax.jit(lambda x: x * scale)
    assert jax.jit(lambda x: inner(x) + inner(x + 1))(1.0) == 9


def test_composites():
    x = np.linspace(-0.9, 0.9, 7).astype(np.float32)
    for function, expected in [(jnp.arcsin, np.arcsin), (jnp.arctanh, np.arctanh), (jnp.sinh, np.sinh), (jnp.cosh, np.cosh)]:
        np.testing.assert_allclose(np.asarray(jax.jit(function)(x)), expected(x), rtol=1e-5)
    values, indices = lax.top_k(jnp.array([3, 1, 4, 1, 5]), 2)
    np.testing.assert_array_equal(np.asarray(values), [5, 4])
    np.testing.assert_array_equal(np.asarray(indices), [4, 2])


def test_dynamic_update_slice_in_loop():
    f = jax.jit(lambda x: lax.fori_loop(0, 5, lambda i, v: v.at[i].set(i * i), x))
    np.testing.assert_array_equal(np.asarray(f(jnp.zeros(5, jnp.int32))), np.arange(5) ** 2)


def test_platform_dependent():
    branches = {"cpu": lambda x: x + 1, "tpu": lambda x: x + 2}
    assert jax.jit(lambda x: lax.platform_dependent(x, **branches))(0.0) == 1
    assert jax.jit(lambda x: lax.platform_dependent(x, **branches, default=lambda x: x + 3))(0.0) == 3
    assert jax.jit(lambda x: lax.platform_dependent(x, **branches, cupel=lambda x: x + 4))(0.0) == 4
