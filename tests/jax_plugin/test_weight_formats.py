"""Weights in block floats: the option experimental_weight_dtype against an encoding written by another hand."""

import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cupel/tensor/testdata"))
import block_floats  # noqa: E402

DIGITS = {"bfp8": 7, "bfp_bf8": 7, "bfp_bf4": 3}


def held(weights: np.ndarray, digits: int) -> np.ndarray:
    """What is left of a matrix whose rows lie in blocks of sixteen."""
    rows, columns = weights.shape
    padded = np.zeros((rows, -(-columns // 16) * 16), np.float32)
    padded[:, :columns] = weights
    result = np.zeros_like(padded)
    for i in range(rows):
        for j in range(0, padded.shape[1], 16):
            block = padded[i, j : j + 16]
            shared, codes = block_floats.encode([int(bits) for bits in block.view(np.uint32)], digits)
            sign = [-1.0 if code >> digits else 1.0 for code in codes]
            magnitude = [code & ((1 << digits) - 1) for code in codes]
            result[i, j : j + 16] = [s * m * 2.0 ** (shared - 127 - (digits - 1)) for s, m in zip(sign, magnitude, strict=True)]
    return result[:, :columns]


def sample(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    scales = np.exp2(random.integers(-6, 7, (rows, columns)))
    return (random.standard_normal((rows, columns)) * scales).astype(np.float32)


@pytest.mark.parametrize("name", DIGITS)
def test_arguments_are_rounded(name):
    w = sample(24, 40)
    result = jax.jit(lambda x, w: x @ w, compiler_options={"experimental_weight_dtype": name})(np.eye(24, dtype=np.float32), w)
    np.testing.assert_array_equal(np.asarray(result), held(w, DIGITS[name]))


def test_constants_are_rounded():
    w = sample(16, 33, seed=1)
    result = jax.jit(lambda x: x @ w, compiler_options={"experimental_weight_dtype": "bfp_bf8"})(np.eye(16, dtype=np.float32))
    np.testing.assert_array_equal(np.asarray(result), held(w, 7))


def test_zeros_infinities_and_signs():
    w = np.zeros((2, 16), np.float32)
    w[0, :4] = [np.inf, 1, -1e30, -0.0]
    w[1, :4] = [1, -(2.0**-20), 2.0**-130, -0.0]
    rounded = jax.jit(lambda x, w: x @ w, compiler_options={"experimental_weight_dtype": "bfp8"})(np.array([[0, 1]], np.float32), w[[1, 1]])
    np.testing.assert_array_equal(np.asarray(rounded)[0, :4], [1, 0, 0, 0])
    rounded = jax.jit(lambda x, w: x @ w, compiler_options={"experimental_weight_dtype": "bfp8"})(np.array([[1]], np.float32), w[:1])
    assert np.isposinf(np.asarray(rounded)[0, 0]) and not np.asarray(rounded)[0, 1:].any()


def test_patterns_choose():
    first, second, third = sample(16, 16, 2), sample(16, 16, 3), sample(16, 16, 4)
    eye = np.eye(16, dtype=np.float32)

    def layers(x, mlp, head, last):
        return x @ mlp, x @ head, x @ last

    formats = json.dumps({"m*": "bfp_bf4", "l?st": "bf16", "default": "bfp_bf8"})
    results = jax.jit(layers, compiler_options={"experimental_weight_dtype": formats})(eye, first, second, third)
    for result, expected in zip(results, (held(first, 3), held(second, 7), third), strict=True):
        np.testing.assert_array_equal(np.asarray(result), expected)


def test_convolutions_keep_their_weights():
    kernel = sample(9, 16, 5).reshape(3, 3, 4, 4)
    image = np.zeros((1, 3, 3, 4), np.float32)
    image[0, 1, 1] = 1

    def run(image, kernel):
        return jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    plain = jax.jit(run)(image, kernel)
    rounded = jax.jit(run, compiler_options={"experimental_weight_dtype": "bfp_bf4"})(image, kernel)
    np.testing.assert_array_equal(np.asarray(plain), np.asarray(rounded))


def test_unknown_formats_are_refused():
    with pytest.raises(Exception, match="bfp9.*is no format of weights"):
        jax.jit(lambda x: x @ x, compiler_options={"experimental_weight_dtype": "bfp9"})(np.eye(2, dtype=np.float32))
