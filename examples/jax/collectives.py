#!/usr/bin/env python3
"""shard_map on 8 devices: every collective against what NumPy says, and a matrix product that passes pieces round a ring."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cupel,cpu")

import cupel.jax  # noqa: E402

cupel.jax.initialize({"num_devices": 8})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, PartitionSpec as P  # noqa: E402

COUNT = 8
mesh = Mesh(np.array(jax.devices("cupel")), ("x",))


def on_each(function, out: P = P("x")):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=out))


def ring_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """a (rows split) times b (rows split): b's pieces go round, and nobody ever holds the whole of it."""
    me, rows = lax.axis_index("x"), b.shape[0]

    def step(i, state):
        total, piece = state
        owner = (me + i) % COUNT
        total = total + lax.dynamic_slice_in_dim(a, owner * rows, rows, 1) @ piece
        return total, lax.ppermute(piece, "x", [(d, (d - 1) % COUNT) for d in range(COUNT)])

    start = lax.pcast(jnp.zeros((a.shape[0], b.shape[1]), a.dtype), "x", to="varying")
    return lax.fori_loop(0, COUNT, step, (start, b))[0]


def main() -> None:
    x = np.arange(COUNT * COUNT, dtype=np.float32).reshape(COUNT * COUNT, 1)
    parts = x.reshape(COUNT, COUNT)
    checks = {
        "psum": (on_each(lambda v: lax.psum(v, "x"), P())(x)[:, 0], parts.sum(0)),
        "pmax": (on_each(lambda v: lax.pmax(v, "x"), P())(x)[:, 0], parts.max(0)),
        "all_gather": (on_each(lambda v: lax.all_gather(v, "x").sum(0))(x).reshape(COUNT, COUNT), np.tile(parts.sum(0), (COUNT, 1))),
        "psum_scatter": (on_each(lambda v: lax.psum_scatter(v, "x", tiled=True))(x)[:, 0], parts.sum(0)),
        "all_to_all": (on_each(lambda v: lax.all_to_all(v, "x", 0, 0, tiled=True))(x).reshape(COUNT, COUNT), parts.T),
        "ppermute": (on_each(lambda v: lax.ppermute(v, "x", [(i, (i + 1) % COUNT) for i in range(COUNT)]))(x).reshape(COUNT, COUNT), np.roll(parts, 1, 0)),
        "axis_index": (on_each(lambda v: v * 0 + lax.axis_index("x"))(x).reshape(COUNT, COUNT)[:, 0], np.arange(COUNT)),
    }
    for name, (actual, expected) in checks.items():
        np.testing.assert_array_equal(np.asarray(actual), expected, err_msg=name)
    print(f"as expected on {COUNT} devices: {', '.join(checks)}")

    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((16, 24), np.float32), generator.standard_normal((24, 5), np.float32)
    product = jax.jit(jax.shard_map(ring_product, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x")))(a, b)
    np.testing.assert_allclose(product, a @ b, rtol=1e-4, atol=1e-5)
    print(f"the ring product is within {np.abs(np.asarray(product) - a @ b).max():.1e} of NumPy's")


if __name__ == "__main__":
    main()
