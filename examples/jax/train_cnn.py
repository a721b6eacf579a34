#!/usr/bin/env python3
"""Trains a small convolutional network with jit, grad and scan, and checks that it learns and that the CPU agrees.

Run with the package installed (`pip install .`), or from the source tree with PYTHONPATH=python.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cupel,cpu")

import cupel.jax  # noqa: E402

cupel.jax.initialize()  # Not needed where the package is installed: JAX finds it.

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

CLASSES, SIZE, BATCH, STEPS = 3, 8, 32, 60


def data(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy images with a bright row, column or diagonal."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, CLASSES, count)
    images = 0.3 * generator.standard_normal((count, SIZE, SIZE, 1)).astype(np.float32)
    for image, label in zip(images, labels):
        at = generator.integers(0, SIZE)
        if label == 0:
            image[at, :, 0] += 1
        elif label == 1:
            image[:, at, 0] += 1
        else:
            image[np.arange(SIZE), (np.arange(SIZE) + at) % SIZE, 0] += 1
    return images, labels.astype(np.int32)


def init(key: jax.Array) -> dict[str, jax.Array]:
    one, two, three = jax.random.split(key, 3)
    return {"conv1": jax.random.normal(one, (3, 3, 1, 8)) / 3, "conv2": jax.random.normal(two, (3, 3, 8, 8)) / 8,
            "dense": jax.random.normal(three, (8, CLASSES)) / 3, "bias": jnp.zeros(CLASSES)}


def predict(parameters: dict[str, jax.Array], images: jax.Array) -> jax.Array:
    x = images
    for name in ("conv1", "conv2"):
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, parameters[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.mean((1, 2)) @ parameters["dense"] + parameters["bias"]


def loss(parameters: dict[str, jax.Array], images: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(predict(parameters, images)), labels[:, None], 1).mean()


@jax.jit
def train(parameters: dict[str, jax.Array], images: jax.Array, labels: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """One step for each batch, all of them one program."""

    def step(state, batch):
        parameters, momentum = state
        value, gradient = jax.value_and_grad(loss)(parameters, *batch)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        return (jax.tree.map(lambda p, m: p - 0.1 * m, parameters, momentum), momentum), value

    start = (parameters, jax.tree.map(jnp.zeros_like, parameters))
    (parameters, _), losses = jax.lax.scan(step, start, (images, labels))
    return parameters, losses


def run(device: jax.Device) -> tuple[np.ndarray, float]:
    images, labels = data(0, BATCH * STEPS)
    batches = jax.device_put((images.reshape(STEPS, BATCH, SIZE, SIZE, 1), labels.reshape(STEPS, BATCH)), device)
    with jax.default_device(device):
        parameters, losses = train(init(jax.random.key(0)), *batches)
        fresh, expected = data(1, 200)
        right = (np.asarray(jax.jit(predict)(parameters, fresh)).argmax(1) == expected).mean()
    return np.asarray(losses), float(right)


def main() -> None:
    losses, right = run(jax.devices("cupel")[0])
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {100 * right:.0f} % of fresh images right")
    assert losses[-5:].mean() < 0.5 * losses[:5].mean() and right > 0.8
    reference, _ = run(jax.devices("cpu")[0])
    np.testing.assert_allclose(losses[:10], reference[:10], rtol=1e-3)
    print(f"the first 10 losses agree with the CPU's within {np.abs(losses[:10] / reference[:10] - 1).max():.1e}")


if __name__ == "__main__":
    main()
