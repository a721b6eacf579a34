#!/usr/bin/env python3
"""Makes the inputs of the programs beside it and what they should give, from NumPy and not from Cupel.

  .venv/bin/python zoo/programs/make_expected.py            writes NAME.inputs.safetensors and NAME.expected.safetensors of all of them
  .venv/bin/python zoo/programs/make_expected.py mlp sort   of those alone

Every program is written here a second time, as mathematics on whole arrays. Floats are computed in float64 and rounded once at the end, so that what
is expected is nearer to the truth than any device; random bits come from JAX, whose THREE_FRY is the one that people have. Inputs are drawn from a
fixed seed, of both signs, and no value occurs twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
NAMES = {"float32": "F32", "float64": "F64", "bfloat16": "BF16", "int32": "I32", "uint32": "U32", "uint64": "U64", "bool": "BOOL", "complex64": "C64"}
Arrays = dict[str, np.ndarray]
PROGRAMS: dict[str, Callable[[np.random.Generator], tuple[Arrays, Arrays]]] = {}


def program(function: Callable[[np.random.Generator], tuple[Arrays, Arrays]]) -> Callable:
    PROGRAMS[function.__name__] = function
    return function


def save(path: Path, arrays: Arrays) -> None:
    header, data = {}, b""
    for name, array in arrays.items():
        bytes_ = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def draw(random: np.random.Generator, *shape: int, dtype: type = np.float32, low: float = -1, high: float = 1) -> np.ndarray:
    """Uniform numbers of which no two are the same: one from each of as many equal parts of the range as there are elements."""
    count = int(np.prod(shape))
    parts = (random.permutation(count) + random.uniform(0.1, 0.9, count)) / count
    return (low + (high - low) * parts).reshape(shape).astype(dtype)


def exact(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def by_name(*arrays: np.ndarray) -> Arrays:
    return {str(i): array for i, array in enumerate(arrays)}


@program
def attention(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    # One rounding step of bf16 apart at least, where 1024 values have room for it.
    q, k, v = (draw(random, 2, 4, 16, 8, low=-2, high=2).astype(ml_dtypes.bfloat16) for _ in range(3))
    scores = np.einsum("bhqd,bhkd->bhqk", exact(q), exact(k)) * np.float32(0.353553385)
    weights = softmax(np.where(np.tri(16, dtype=bool), scores, -np.inf))
    # The program rounds the weights, so this does.
    result = np.einsum("bhqk,bhkd->bhqd", exact(weights.astype(ml_dtypes.bfloat16)), exact(v))
    return by_name(q, k, v), by_name(result.astype(ml_dtypes.bfloat16))


@program
def collectives(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    count = 4
    gradients = [draw(random, 8, 4) for _ in range(count)]
    total = sum(map(exact, gradients)).astype(np.float32)
    expected: Arrays = {}
    for me in range(count):
        results = (total, total[2 * me:2 * me + 2], np.concatenate(gradients, 1), gradients[(me - 1) % count],
                   np.concatenate([gradient[2 * me:2 * me + 2] for gradient in gradients], 1), np.uint32(me))
        expected |= {f"{me}/{i}": np.asarray(result) for i, result in enumerate(results)}
    return {f"{me}/0": gradient for me, gradient in enumerate(gradients)}, expected


@program
def composite_rms_norm(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    x, gain = draw(random, 4, 16, low=-3, high=3), draw(random, 16, low=0.5, high=2)
    mean = (exact(x) ** 2).mean(1, keepdims=True)
    return by_name(x, gain), by_name((exact(x) / np.sqrt(mean + np.float32(9.99999974e-6)) * exact(gain)).astype(np.float32))


@program
def control_flow(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    x = draw(random, 4, low=-2, high=2)
    return by_name(np.array(True), np.array(1, np.int32), x), by_name(np.sin(exact(x) ** 2).astype(np.float32))


def convolve(x: np.ndarray, kernel: np.ndarray, stride: int, pad: tuple[int, int], groups: int = 1) -> np.ndarray:
    """[b, 0, 1, f] x [0, 1, i, o] -> [b, 0, 1, f], the same along both dimensions."""
    x = np.pad(x, ((0, 0), pad, pad, (0, 0)))
    rows, columns, width, outputs = kernel.shape
    height, breadth = ((x.shape[i] - kernel.shape[i - 1]) // stride + 1 for i in (1, 2))
    result = np.zeros((len(x), height, breadth, outputs))
    for r in range(rows):
        for c in range(columns):
            part = x[:, r:r + stride * height:stride, c:c + stride * breadth:stride]
            for g in range(groups):
                own = slice(g * outputs // groups, (g + 1) * outputs // groups)
                result[..., own] += part[..., g * width:(g + 1) * width] @ kernel[r, c, :, own]
    return result


@program
def conv_net(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    image, k1, k2, w = draw(random, 2, 28, 28, 1), draw(random, 3, 3, 1, 8), draw(random, 3, 3, 4, 8), draw(random, 128, 10)
    first = np.maximum(convolve(exact(image), exact(k1), 2, (0, 1)), 0)
    pooled = first.reshape(2, 7, 2, 7, 2, 8).max((2, 4))
    second = np.maximum(convolve(pooled, exact(k2), 2, (1, 1), groups=2), 0)
    return by_name(image, k1, k2, w), by_name((second.reshape(2, 128) @ exact(w)).astype(np.float32))


@program
def dynamic_shapes(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    x, rows = draw(random, 5, 4), draw(random, 3, 4)
    mean = exact(x).mean(0)
    return by_name(x, rows), by_name(*(array.astype(np.float32) for array in (mean, exact(x) - mean, 2 * exact(rows))))


@program
def linear_algebra(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    # Positive definite and well conditioned, and each batch element unlike the other.
    root, b = draw(random, 2, 3, 3, dtype=np.float64), draw(random, 2, 3, 1, dtype=np.float64, low=-4, high=4)
    a = root @ root.transpose(0, 2, 1) + np.diag([1.0, 1.5, 2.0])
    return by_name(a, b), by_name(np.linalg.solve(a, b))


@program
def mlp(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    x, w1, b1, w2, b2 = draw(random, 8, 16), draw(random, 16, 32), draw(random, 32), draw(random, 32, 10), draw(random, 10)
    hidden = np.maximum(exact(x) @ exact(w1) + exact(b1), 0)
    return by_name(x, w1, b1, w2, b2), by_name(softmax(hidden @ exact(w2) + exact(b2)).astype(np.float32))


@program
def quantized_dot(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    stored = np.array([[1, -2, 3], [4, 5, -6], [7, 8, 9], [-1, 2, 1], [0, 3, 2], [5, -5, 5], [1, 1, 1], [2, 0, -2]], np.float64)
    weights = stored * [0.5, 0.25, 0.125]
    while True:  # Until no number lies where a rounding decides.
        x = draw(random, 4, 8)
        steps = exact(x) / 0.02
        q = np.clip(np.rint(steps) + 3, -128, 127)
        dot = ((q - 3) * 0.02) @ weights / 0.1
        if all(np.abs(np.abs(number - np.floor(number)) - 0.5).min() > 0.02 for number in (steps, dot)):
            break
    y = (np.clip(np.rint(dot) - 5, -128, 127) + 5) * 0.1
    return by_name(x), by_name(y.astype(np.float32), (exact(x) @ weights).astype(np.float32))


@program
def random_and_fft(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    import jax
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    state = random.integers(1, 2**63, 2, dtype=np.uint64)
    key, bits = jax.lax.rng_bit_generator(state.view(np.uint32), (16,), np.uint32, jax.lax.RandomAlgorithm.RNG_THREE_FRY)
    uniform = ((np.asarray(bits) >> 9) | 0x3F800000).astype(np.uint32).view(np.float32) - np.float32(1)
    return by_name(state), by_name(np.asarray(key).view(np.uint64), uniform, np.fft.rfft(exact(uniform)).astype(np.complex64))


@program
def scatter(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    table, gradient = draw(random, 32, 8), draw(random, 4, 6, 8)
    tokens = random.integers(0, 32, (4, 6), dtype=np.int32)
    tokens[0, :3] = tokens[1, 1]  # Some rows are added to more than once.
    updated = exact(table)
    np.add.at(updated, tokens, exact(gradient))
    updated = updated.astype(np.float32)
    return by_name(table, tokens, gradient), by_name(updated, updated[tokens])


@program
def sort(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    scores = draw(random, 4, 16)
    order = np.argsort(-scores, 1, kind="stable")[:, :3]
    return by_name(scores), by_name(np.take_along_axis(scores, order, 1), order.astype(np.int32))


@program
def while_loop(random: np.random.Generator) -> tuple[Arrays, Arrays]:
    # Numbers whose roots ten steps find, some of which take longer than others.
    x = draw(random, 4, dtype=np.float64, low=0.5, high=40)
    guess, steps = np.ones(4), 0
    while (np.abs(guess * guess - x) > 1e-12).any() and steps < 10:
        guess, steps = (guess + x / guess) * 0.5, steps + 1
    assert np.allclose(guess, np.sqrt(x), rtol=1e-13)
    return by_name(x), by_name(guess, np.array(steps, np.int32))


def main() -> None:
    for name in sys.argv[1:] or sorted(PROGRAMS):
        # Of its own seed, so that a new program changes none of the others.
        inputs, expected = PROGRAMS[name](np.random.default_rng([ord(letter) for letter in name]))
        save(HERE / f"{name}.inputs.safetensors", inputs)
        save(HERE / f"{name}.expected.safetensors", expected)


if __name__ == "__main__":
    main()
