"""Programs split over their devices against the same computed whole: functions on shardings drawn at random."""

import random
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

ROUNDS = 3
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


A, B, C, V, T = floats(8, 16), floats(16, 8), floats(8, 16), floats(16), floats(8, 4, 16)
X, K = floats(8, 8, 8, 4), floats(3, 3, 4, 8)
I = RNG.integers(0, 8, 16).astype(np.int32)  # noqa: E741
J = RNG.integers(-3, 12, (8, 4)).astype(np.int32)


def convolve(x, k, strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


CASES = {
    "add": (lambda a, b: a + b * 2, A, C), "where": (lambda a, c: jnp.where(a > 0, c, a.sum()), A, C), "clamp": (lambda a: jnp.clip(a, -1, a.mean()), A),
    "iota": (lambda a: a + jnp.arange(16) + jnp.arange(8)[:, None], A), "tril": (jnp.tril, A), "integers": (lambda j: (j * 3 + j.sum(0)) // 2, J),
    "dot": (lambda a, b: a @ b, A, B), "dot of rows": (lambda a, b: jnp.einsum("ij,kj->ik", a, b), A, C), "outer": (jnp.outer, V, V[:8]),
    "batched dot": (lambda t, u: jnp.einsum("bij,bkj->bik", t, u), T, floats(8, 4, 16)),
    "attention": (lambda q, k, v: jax.nn.softmax(jnp.einsum("bid,bjd->bij", q, k)) @ v, T, floats(8, 4, 16), floats(8, 4, 16)),
    "sum of columns": (lambda a: a.sum(0), A), "sum of rows": (lambda a: a.sum(1, keepdims=True), A), "sum": (jnp.sum, A), "product": (lambda a: jnp.prod(a, 0), A),
    "max": (lambda a: a.max(1), A), "min and max": (lambda a: a.min() + a.max(0), A), "any": (lambda a: (a > 1).any(1), A), "argmax": (lambda a: a.argmax(1), A),
    "argmin": (lambda a: a.argmin(0), A), "softmax": (jax.nn.softmax, A), "softmax of columns": (lambda a: jax.nn.softmax(a, axis=0), A), "deviation": (jnp.std, A),
    "layer norm": (lambda a, v: (a - a.mean(-1, keepdims=True)) / jnp.sqrt(a.var(-1, keepdims=True) + 1e-5) * v, A, V),
    "transpose": (lambda a: a.T * 2, A), "reshape": (lambda a: a.reshape(16, 8) + 1, A), "merge": (lambda t: t.reshape(32, 16) * 3, T),
    "part": (lambda a: a.reshape(2, 4, 16).sum(1), A), "ravel": (jnp.ravel, T), "concatenate": (lambda a, c: jnp.concatenate([a, c], 0), A, C),
    "concatenate columns": (lambda a, c: jnp.concatenate([a, c], 1), A, C), "stack": (lambda a, c: jnp.stack([a, c]), A, C), "pad": (lambda a: jnp.pad(a, ((1, 2), (0, 3))), A),
    "pad less than nothing": (lambda a: lax.pad(a, jnp.float32(1), ((-1, 0, 0), (2, -3, 1))), A), "slice": (lambda a: a[2:6, ::2], A), "reverse": (lambda a: a[::-1, ::-1], A),
    "roll": (lambda a: jnp.roll(a, 3, 1), A), "dynamic slice": (lambda a, i: lax.dynamic_slice(a, (i[0], i[1]), (4, 8)), A, I),
    "dynamic update": (lambda a, b, i: lax.dynamic_update_slice(a, b[:4, :4], (i[0], i[1])), A, B, I),
    "gather rows": (lambda a, i: a[i], A, I), "gather columns": (lambda a, i: a[:, i], A, I), "gather along": (lambda a, j: jnp.take_along_axis(a, jnp.clip(j, 0, 15), 1), A, J),
    "scatter add": (lambda v, i: jnp.zeros((8,), jnp.float32).at[i].add(v), V, I), "scatter rows": (lambda a, i, b: a.at[i].add(b), A, I, floats(16, 16)),
    "segment sum": (lambda b, i: jax.ops.segment_sum(b, i, 8), B, I), "set a row": (lambda a, v: a.at[3].set(v), A, V), "multiply a block": (lambda a, v: a.at[2:5, 1:4].multiply(v[:3]), A, V),
    "count": (lambda i: jnp.bincount(i, length=8), I), "one hot": (lambda i: jax.nn.one_hot(i, 8) @ jnp.arange(8.0), I),
    "running sum": (lambda a: jnp.cumsum(a, 1), A), "running sum of columns": (lambda a: jnp.cumsum(a, 0), A), "sort": (lambda a: jnp.sort(a, 1), A),
    "sort columns": (lambda a: jnp.sort(a, 0), A), "argsort": (lambda a: jnp.argsort(a, 1), A), "top k": (lambda a: lax.top_k(a, 3), A), "median": (lambda a: jnp.median(a, 1), A),
    "convolution": (convolve, X, K), "strided convolution": (lambda x, k: convolve(x, k, (2, 2), "VALID"), X, K),
    "grouped convolution": (lambda x, k: convolve(x, k[:, :, :1, :], feature_group_count=4), X, K), "max pool": (max_pool, X),
    "sum pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), X),
    "gradient": (jax.grad(lambda a, b: jnp.tanh(a @ b).sum()), A, B), "gradient of two layers": (lambda a, b, c: jax.grad(lambda p: ((jax.nn.relu(a @ p) @ c) ** 2).mean())(b), A, B, floats(8, 4)),
    "gradient of a convolution": (lambda x, k: jax.grad(lambda k: (convolve(x, k) ** 2).sum())(k), X, K), "gradient of a gather": (lambda a, i: jax.grad(lambda a: (a[i] ** 2).sum())(a), A, I),
    "gradient of a pool": (jax.grad(lambda x: (max_pool(x) ** 2).sum()), X),
    "scan": (lambda a, b: lax.scan(lambda c, x: (jnp.tanh(c @ b + x), c.sum()), jnp.zeros((8,)), jnp.tile(a[:, :1], (1, 8)) + 0 * a[:, :8]), A, floats(8, 8)),
    "while": (lambda a: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 0.5 + s[1].sum()), (0, a)), A),
    "cond": (lambda a, v: lax.cond(v.sum() > 0, lambda x: x * 2, lambda x: x.sum(0, keepdims=True) + 0 * x, a), A, V),
    "loop over rows": (lambda a: lax.fori_loop(0, 3, lambda i, x: x.at[i].set(x.sum(0)), a), A), "map": (lambda a: lax.map(lambda r: r * r.sum(), a), A),
    "bits": (lambda a: lax.bitcast_convert_type(a, jnp.int32).sum(), A), "fft": (lambda a: jnp.abs(jnp.fft.fft(a, axis=1)), A),
    "cholesky": (lambda t: jnp.linalg.cholesky(t @ t.transpose(0, 2, 1) + 4 * jnp.eye(4)), T), "inverse": (lambda b: jnp.linalg.inv(b @ b.T + jnp.eye(16) * 3), B),
    "random": (lambda a: a + jax.random.normal(jax.random.key(3), (8, 16)), A),
}  # fmt: skip


def draw_spec(draw: random.Random, mesh: Mesh, shape: tuple[int, ...]) -> P:
    """Each axis of the mesh splits some dimension that it divides, or none."""
    parts: list[tuple[str, ...]] = [() for _ in shape]
    for name in draw.sample(mesh.axis_names, len(mesh.axis_names)):
        if shape and draw.random() < 0.65:
            dim = draw.randrange(len(shape))
            axes = (*parts[dim], name)
            if shape[dim] % int(np.prod([mesh.shape[axis] for axis in axes])) == 0:
                parts[dim] = axes
    return P(*(axes if len(axes) > 1 else axes[0] if axes else None for axes in parts))


@pytest.mark.parametrize("round", range(ROUNDS))
@pytest.mark.parametrize("name", CASES)
def test_split_and_whole_are_alike(name, round):
    function, *arguments = CASES[name]
    draw = random.Random(zlib.crc32(f"{name}/{round}".encode()))
    devices = np.array(jax.devices()[:8])
    mesh = draw.choice([Mesh(devices, ("x",)), Mesh(devices.reshape(4, 2), ("x", "y")), Mesh(devices.reshape(2, 2, 2), ("x", "y", "z")), Mesh(devices[:4].reshape(2, 2)[::-1], ("x", "y"))])
    placed = [jax.device_put(value, NamedSharding(mesh, draw_spec(draw, mesh, value.shape))) for value in arguments]
    wanted = jax.tree.map(lambda result: NamedSharding(mesh, draw_spec(draw, mesh, result.shape)), jax.eval_shape(function, *arguments))
    options = {"out_shardings": wanted} if draw.random() < 0.5 else {}
    lowered = jax.jit(function, **options).lower(*placed)
    split = lowered.compile(compiler_options={"partition": "split"})(*placed)
    whole = lowered.compile(compiler_options={"partition": "whole"})(*placed)
    for ours, theirs in zip(jax.tree.leaves(split), jax.tree.leaves(whole), strict=True):
        assert ours.sharding == theirs.sharding
        expected = np.asarray(theirs)
        # Sums of pieces round otherwise than sums of all.
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(np.asarray(ours), expected, rtol=1e-4, atol=1e-4 * scale)


def test_says_why_it_cannot_split(capfd):
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    placed = jax.device_put(A, NamedSharding(mesh, P("x")))
    lowered = jax.jit(lambda a: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(a.shape, a.dtype), a) + 1).lower(placed)
    compiled = lowered.compile()
    assert compiled.cost_analysis()["partition"].startswith("whole (stablehlo.custom_call at ")
    assert "cupel: warning: jit__lambda: partition: whole (stablehlo.custom_call" in capfd.readouterr().err
    np.testing.assert_array_equal(np.asarray(compiled(placed)), A * 2 + 1)
    with pytest.raises(Exception, match="the program is not split over its devices: stablehlo.custom_call"):
        lowered.compile(compiler_options={"strict": True})
    assert "partition" not in jax.jit(lambda a: a + 1).lower(placed).compile().cost_analysis()


def test_a_backend_is_chosen_by_name():
    same = jax.jit(lambda a: a, keep_unused=True).lower(A)
    np.testing.assert_array_equal(np.asarray(same.compile(compiler_options={"backend": "null"})(A)), A)
    with pytest.raises(Exception, match="stablehlo.negate: is not computed by the backend null"):
        jax.jit(jnp.negative).lower(A).compile(compiler_options={"backend": "null"})
    with pytest.raises(Exception, match="the option 'backend' is 'nul'; it takes .*; the nearest is 'null'"):
        same.compile(compiler_options={"backend": "nul"})
