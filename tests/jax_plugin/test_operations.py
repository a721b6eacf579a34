"""What jnp has, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

RNG = np.random.default_rng(7)
A = RNG.standard_normal((4, 6)).astype(np.float32)
B = RNG.standard_normal((6, 5)).astype(np.float32)
V = RNG.standard_normal(6).astype(np.float32)
I = RNG.integers(-5, 5, (4, 6)).astype(np.int32)
M = A @ A.T + 4 * np.eye(4, dtype=np.float32)

CASES = {
    "add": lambda np_: np_.add(A, V), "subtract": lambda np_: np_.subtract(A, V), "divide": lambda np_: np_.divide(A, V),
    "maximum": lambda np_: np_.maximum(A, 0), "abs": lambda np_: np_.abs(A), "sign": lambda np_: np_.sign(A), "floor": lambda np_: np_.floor(A),
    "exp": lambda np_: np_.exp(A), "log1p": lambda np_: np_.log1p(np_.abs(A)), "sin": lambda np_: np_.sin(A), "tan": lambda np_: np_.tan(A),
    "arctan2": lambda np_: np_.arctan2(A, V), "power": lambda np_: np_.power(np_.abs(A), 1.5), "hypot": lambda np_: np_.hypot(A, V),
    "sum": lambda np_: np_.sum(A), "sum_axis": lambda np_: np_.sum(A, axis=1), "mean": lambda np_: np_.mean(A, axis=0), "var": lambda np_: np_.var(A),
    "prod": lambda np_: np_.prod(A, axis=0), "max": lambda np_: np_.max(A, axis=1), "argmax": lambda np_: np_.argmax(A, axis=1), "argmin": lambda np_: np_.argmin(A),
    "cumsum": lambda np_: np_.cumsum(A, axis=1), "cumprod": lambda np_: np_.cumprod(A, axis=0), "any": lambda np_: np_.any(A > 1, axis=0), "all": lambda np_: np_.all(A > -9),
    "matmul": lambda np_: np_.matmul(A, B), "dot": lambda np_: np_.dot(A, V), "outer": lambda np_: np_.outer(V, V), "tensordot": lambda np_: np_.tensordot(A, B, 1),
    "einsum": lambda np_: np_.einsum("ij,jk->ki", A, B), "transpose": lambda np_: np_.transpose(A), "reshape": lambda np_: np_.reshape(A, (3, 8)),
    "concatenate": lambda np_: np_.concatenate([A, A], axis=1), "stack": lambda np_: np_.stack([A, A]), "split": lambda np_: np_.split(A, 3, axis=1)[1],
    "tile": lambda np_: np_.tile(V, (2, 2)), "repeat": lambda np_: np_.repeat(V, 3), "flip": lambda np_: np_.flip(A, 1), "roll": lambda np_: np_.roll(A, 2, 1),
    "pad": lambda np_: np_.pad(A, 1), "pad_reflect": lambda np_: np_.pad(V, 2, mode="reflect"), "where": lambda np_: np_.where(A > 0, A, -A), "clip": lambda np_: np_.clip(A, -1, 1),
    "sort": lambda np_: np_.sort(A, axis=1), "argsort": lambda np_: np_.argsort(A, axis=1), "searchsorted": lambda np_: np_.searchsorted(np_.sort(V), V),
    "take": lambda np_: np_.take(A, np_.array([0, 2]), axis=1), "take_along": lambda np_: np_.take_along_axis(A, np_.abs(I), axis=1), "diag": lambda np_: np_.diag(M), "trace": lambda np_: np_.trace(M),
    "tril": lambda np_: np_.tril(M), "eye": lambda np_: np_.eye(3, 4), "linspace": lambda np_: np_.linspace(0.0, 1.0, 5), "meshgrid": lambda np_: np_.meshgrid(V, V)[1],
    "bitwise": lambda np_: np_.bitwise_xor(I, 3), "shift": lambda np_: np_.left_shift(np_.abs(I), 2), "mod": lambda np_: np_.mod(I, 3), "floor_divide": lambda np_: np_.floor_divide(I, 3),
    "gcd": lambda np_: np_.gcd(I, 6), "isnan": lambda np_: np_.isnan(A), "convolve": lambda np_: np_.convolve(V, V), "interp": lambda np_: np_.interp(V, np_.sort(V), V),
    "cholesky": lambda np_: np_.linalg.cholesky(M), "solve": lambda np_: np_.linalg.solve(M, A), "inv": lambda np_: np_.linalg.inv(M), "det": lambda np_: np_.linalg.det(M),
    "norm": lambda np_: np_.linalg.norm(A), "fft": lambda np_: np_.fft.fft(V), "rfft": lambda np_: np_.fft.rfft(A), "ifft2": lambda np_: np_.fft.ifft2(A),
    "median": lambda np_: np_.median(A), "percentile": lambda np_: np_.percentile(A, 30), "histogram": lambda np_: np_.histogram(V, bins=4, range=(-3.0, 3.0))[0], "unravel": lambda np_: np_.unravel_index(7, (3, 4))[1],
}


@pytest.mark.parametrize("name", CASES)
def test_like_numpy(name):
    result, expected = np.asarray(CASES[name](jnp)), np.asarray(CASES[name](np))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=3e-4, atol=3e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution(padding, stride):
    image, kernel = RNG.standard_normal((1, 8, 8, 3)).astype(np.float32), RNG.standard_normal((3, 3, 3, 4)).astype(np.float32)
    result = lax.conv_general_dilated(image, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    size = result.shape[1]
    pad = 0 if padding == "VALID" else max((size - 1) * stride + 3 - 8, 0)
    padded = np.pad(image, ((0, 0), (pad // 2, pad - pad // 2), (pad // 2, pad - pad // 2), (0, 0)))
    expected = np.zeros(result.shape, np.float32)
    for y in range(size):
        for x in range(size):
            window = padded[0, y * stride:y * stride + 3, x * stride:x * stride + 3]
            expected[0, y, x] = np.tensordot(window, kernel, 3)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-4)


def test_scatter_forms():
    x = jnp.zeros((4, 4))
    np.testing.assert_array_equal(np.asarray(x.at[1, 2].set(5))[1, 2], 5)
    np.testing.assert_array_equal(np.asarray(x.at[jnp.array([0, 0]), 0].add(1))[0, 0], 2)
    np.testing.assert_array_equal(np.asarray(x.at[:, 1].max(3)).sum(), 12)


def test_segment_sum():
    result = jax.ops.segment_sum(jnp.arange(6.0), jnp.array([0, 0, 1, 1, 2, 2]), 3)
    np.testing.assert_array_equal(np.asarray(result), [1, 5, 9])


def test_random_is_reproducible():
    key = jax.random.key(42)
    np.testing.assert_array_equal(np.asarray(jax.random.bits(key, (4,))), np.asarray(jax.random.bits(key, (4,))))
    # Threefry is the same on every backend.
    np.testing.assert_array_equal(np.asarray(jax.random.randint(jax.random.key(0), (5,), 0, 1000)), RANDOM_INTEGERS)


RANDOM_INTEGERS = [789, 0, 712, 373, 771]  # From JAX's own CPU backend.


@pytest.mark.parametrize("draw, mean, spread", [
    (lambda k: jax.random.normal(k, (20000,)), 0, 1), (lambda k: jax.random.uniform(k, (20000,)), 0.5, 12 ** -0.5),
    (lambda k: jax.random.bernoulli(k, 0.3, (20000,)), 0.3, 0.21 ** 0.5), (lambda k: jax.random.exponential(k, (20000,)), 1, 1),
    (lambda k: jax.random.gamma(k, 3.0, (5000,)), 3, 3 ** 0.5), (lambda k: jax.random.poisson(k, 4.0, (5000,)), 4, 2)])
def test_random_distributions(draw, mean, spread):
    values = np.asarray(draw(jax.random.key(1))).astype(np.float64)
    assert abs(values.mean() - mean) < 0.1
    assert abs(values.std() - spread) < 0.1


def test_permutation():
    assert sorted(np.asarray(jax.random.permutation(jax.random.key(3), 20)).tolist()) == list(range(20))


def test_scatter_skips_windows_that_hang_over_the_edge():
    """XLA's scatter skips the whole window, the specification's single elements; JAX means the first."""
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,))
    indices = np.array([[1], [4], [-1], [3]], np.int32)
    updates = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32)
    for scatter in (lax.scatter_add, lax.scatter_max, lax.scatter):
        result = scatter(jnp.zeros(5), indices, updates, numbers, mode="drop")
        np.testing.assert_array_equal(result, [0, 1, 2, 7, 8])


def test_calls_that_only_order_or_keep():
    from jax.experimental import control_deps

    @jax.jit
    def f(x):
        a, b = x + 1, x * 2
        control_deps.control_dep(a, b)
        lax.dce_sink(a) if hasattr(lax, "dce_sink") else None
        return b

    assert f(3.0) == 6
