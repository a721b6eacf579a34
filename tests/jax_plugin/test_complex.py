"""Hyperbolic functions of complex numbers near the axes, where the sum of two exponentials is nothing but rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SMALL = [0.0, 1e-30, 4.5e-8, 1e-3, 0.5]
POINTS = np.array([complex(s * a, t * b) for a in [*SMALL, 2.0, 30.0] for b in [*SMALL, 2.0, 3.1415927] for s in (1, -1) for t in (1, -1)])


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh", "sin", "cos", "tan", "arcsinh", "arcsin", "arctan", "arctanh", "expm1", "log1p"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_both_parts_have_their_digits(name, dtype):
    jax.config.update("jax_enable_x64", True)
    z = POINTS.astype(dtype)
    if name.startswith("arc"):  # On the axes there are cuts, of which JAX takes one side.
        z = z[(z.real != 0) & (z.imag != 0)]
    got = np.asarray(getattr(jnp, name)(z))
    want = getattr(np, name)(z.astype(np.complex256))
    assert got.dtype == z.dtype
    digits = 64 * float(np.finfo(dtype).eps)
    for part in ("real", "imag"):
        expected = getattr(want, part).astype(np.float128)
        np.testing.assert_allclose(getattr(got, part), expected, rtol=digits, atol=float(np.finfo(dtype).tiny) if name in ("sinh", "cosh") else 4 * digits)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_ends_of_the_plane(dtype):
    """As C's Annex G has them: a zero part stays zero whatever the other factor is."""
    jax.config.update("jax_enable_x64", True)
    inf, nan = np.inf, np.nan
    z = np.array([complex(0, inf), complex(0, -inf), complex(0, nan), complex(inf, 0), complex(-inf, 0)], dtype)
    sinh, cosh = np.asarray(jnp.sinh(z)), np.asarray(jnp.cosh(z))
    np.testing.assert_array_equal(sinh.real, [0, 0, 0, inf, -inf])
    np.testing.assert_array_equal(sinh.imag, [nan, nan, nan, 0, 0])
    np.testing.assert_array_equal(cosh.real, [nan, nan, nan, inf, inf])
    np.testing.assert_array_equal(cosh.imag, np.zeros(5))
