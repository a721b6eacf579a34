#!/usr/bin/env python3
"""Trains a two-layer network on 8 devices, 4 ways over data and 2 ways over features, and compares with one device."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cupel,cpu")

import cupel.jax  # noqa: E402

cupel.jax.initialize({"num_devices": 8})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402


def loss(parameters: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((jnp.tanh(x @ parameters["in"]) @ parameters["out"] - y) ** 2)


@jax.jit
def step(parameters: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    value, gradient = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, g: p - 0.2 * g, parameters, gradient), value


def main() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((64, 16), np.float32)
    y = np.sin(x[:, :4])
    parameters = {"in": generator.standard_normal((16, 32), np.float32) / 4, "out": generator.standard_normal((32, 4), np.float32) / 6}

    mesh = Mesh(np.array(jax.devices("cupel")).reshape(4, 2), ("data", "model"))
    layouts = {"in": P(None, "model"), "out": P("model", None)}
    put = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
    sharded = {name: put(value, layouts[name]) for name, value in parameters.items()}
    batch = put(x, P("data", None)), put(y, P("data", None))
    alone = jax.device_put(parameters, jax.devices("cupel")[0])
    losses, expected = [], []
    for _ in range(30):
        sharded, value = step(sharded, *batch)
        losses.append(float(value))
        alone, value = step(alone, x, y)
        expected.append(float(value))
    print(f"8 devices: loss {losses[0]:.4f} -> {losses[-1]:.4f}; largest difference to one device {np.abs(np.subtract(losses, expected)).max():.1e}")
    assert losses[-1] < 0.7 * losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    pieces = {name: value.addressable_shards[0].data.shape for name, value in sharded.items()}
    print(f"a device holds {pieces} of {({name: value.shape for name, value in sharded.items()})}")
    assert pieces["in"] == (16, 16) and pieces["out"] == (16, 4)


if __name__ == "__main__":
    main()
