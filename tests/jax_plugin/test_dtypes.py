"""Element types: there and back again, and a little arithmetic in each."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
SMALL = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e4m3",
         "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn"]
COMPLEX = ["complex64", "complex128"]
NARROW = ["int4", "uint4", "int2", "uint2"]


def numpy_type(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def sample(name: str, count: int = 12) -> np.ndarray:
    values = np.arange(count) % (2 if name == "int2" else 4)
    return values.astype(numpy_type(name)).reshape(3, count // 3)


@pytest.mark.parametrize("name", ["bool"] + INTEGERS + FLOATS + SMALL + COMPLEX + NARROW)
def test_round_trip(name):
    jax.config.update("jax_enable_x64", True)
    data = sample(name)
    back = np.asarray(jax.device_put(data))
    assert back.dtype == data.dtype
    np.testing.assert_array_equal(back.view(np.uint8), data.view(np.uint8))


@pytest.mark.parametrize("name", INTEGERS + FLOATS + COMPLEX)
def test_add_multiply(name):
    jax.config.update("jax_enable_x64", True)
    data = sample(name)
    result = jax.jit(lambda x: x * x + x)(data)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(np.asarray(result), data * data + data)


@pytest.mark.parametrize("name", NARROW + SMALL)
def test_convert_from_narrow(name):
    data = sample(name)
    result = jax.jit(lambda x: x.astype(jnp.float32) + 1)(data)
    np.testing.assert_array_equal(np.asarray(result), data.astype(np.float32) + 1)


@pytest.mark.parametrize("name", SMALL + ["float16", "bfloat16"])
def test_convert_to_small_float(name):
    data = np.array([0.1, -1.7, 3.3, 100.0, 0.0], np.float32)
    result = jax.jit(lambda x: x.astype(numpy_type(name)))(data)
    np.testing.assert_array_equal(np.asarray(result).astype(np.float32), data.astype(numpy_type(name)).astype(np.float32))


@pytest.mark.parametrize("source", ["float32", "int32", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float16", "int8", "uint32", "bool", "complex64"])
def test_convert(source, target):
    data = sample(source)
    result = jax.jit(lambda x: x.astype(target))(data)
    np.testing.assert_array_equal(np.asarray(result), data.astype(target))


def test_negative_int4_keeps_its_sign():
    data = np.array([-8, -1, 0, 7], ml_dtypes.int4)
    result = jax.jit(lambda x: x.astype(jnp.int32) * 2)(data)
    np.testing.assert_array_equal(np.asarray(result), [-16, -2, 0, 14])


def test_nan_and_infinity_survive():
    data = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    back = np.asarray(jax.device_put(data))
    np.testing.assert_array_equal(back.view(np.uint32), data.view(np.uint32))


def test_x64_needs_to_be_on():
    assert jax.device_put(np.float64(1)).dtype == jnp.float32
