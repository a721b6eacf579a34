"""Layouts that programs leave open, and those that hosts ask for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

X = np.arange(4 * 6 * 2, dtype=np.float32).reshape(4, 6, 2)
OPEN = Format(Layout.AUTO)


def compiled(function, *arguments):
    return jax.jit(function, in_shardings=OPEN, out_shardings=OPEN).lower(*arguments).compile()


@pytest.mark.parametrize("function, order", [
    (lambda x: x, (0, 1, 2)),
    (lambda x: x.T, (2, 1, 0)),
    (lambda x: (x * 2).transpose(1, 2, 0), (2, 0, 1)),
    (lambda x: x.transpose(2, 0, 1).transpose(1, 0, 2), (0, 2, 1)),
    (lambda x: x.T + 1, (0, 1, 2)),
], ids=["as it is", "reversed", "rotated", "twice", "computed after"])
def test_an_open_result_stays_where_a_transposition_finds_it(function, order):
    program = compiled(function, X)
    assert program.input_formats[0][0].layout.major_to_minor == (0, 1, 2)
    assert program.output_formats.layout.major_to_minor == order
    result = program(X)
    assert result.format == program.output_formats
    np.testing.assert_array_equal(result, function(X))
    # What others compute of it does not depend on how it lies.
    np.testing.assert_array_equal(jax.jit(lambda y: y + 1)(result), function(X) + 1)


def test_split_over_devices():
    sharding = NamedSharding(Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y")), P("x", "y"))
    x = jax.device_put(X, sharding)
    program = jax.jit(lambda x: x.T, in_shardings=OPEN, out_shardings=OPEN).lower(jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)).compile()
    assert program.output_formats.layout.major_to_minor == (2, 1, 0)
    np.testing.assert_array_equal(program(x), X.T)


def test_a_result_that_is_asked_for_in_rows_comes_in_rows():
    assert jax.jit(jnp.transpose).lower(X).compile().output_formats.layout.major_to_minor == (0, 1, 2)
