"""Linear algebra, which JAX lowers for the platform only through the package: against NumPy and by its own identities."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(rows: int, columns: int, dtype: type, seed: int = 0, batch: tuple[int, ...] = ()) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.standard_normal((*batch, rows, columns))
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * generator.standard_normal((*batch, rows, columns))
    return values.astype(dtype)


def tolerance(dtype: type) -> float:
    return 2e-4 if np.finfo(dtype).bits == 32 else 1e-10


@pytest.fixture(autouse=True)
def wide_types():
    jax.config.update("jax_enable_x64", True)


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def close(actual: object, expected: object, dtype: type) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_eigh(dtype, batch):
    a = matrix(6, 6, dtype, batch=batch)
    a = a + adjoint(a)
    values, vectors = jax.jit(jnp.linalg.eigh)(a)
    close(values, np.linalg.eigvalsh(a), dtype)
    close(a @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[..., None, :], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    a = matrix(5, 5, dtype)
    values, vectors = jnp.linalg.eig(a)
    close(a @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[None, :], dtype)
    close(np.sort_complex(np.asarray(values)), np.sort_complex(np.linalg.eigvals(a)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7)])
def test_svd(dtype, shape):
    a = matrix(*shape, dtype)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    close(s, np.linalg.svd(a, compute_uv=False), dtype)
    close((np.asarray(u) * np.asarray(s)) @ np.asarray(vh), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7)])
def test_qr(dtype, shape):
    a = matrix(*shape, dtype)
    q, r = jnp.linalg.qr(a)
    close(np.asarray(q) @ np.asarray(r), a, dtype)
    close(adjoint(np.asarray(q)) @ np.asarray(q), np.eye(q.shape[1]), dtype)
    assert not np.tril(np.asarray(r), -1).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype):
    a = matrix(6, 6, dtype)
    p, l, u = jax.scipy.linalg.lu(a)
    close(np.asarray(p) @ np.asarray(l) @ np.asarray(u), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    a = matrix(5, 5, dtype)
    a = a @ adjoint(a) + 5 * np.eye(5, dtype=dtype)
    close(jnp.linalg.cholesky(a), np.linalg.cholesky(a), dtype)


def test_cholesky_of_an_indefinite_matrix_is_nan():
    assert np.isnan(np.asarray(jnp.linalg.cholesky(-np.eye(3, dtype=np.float32)))[np.tril_indices(3)]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype):
    a, b = matrix(5, 5, dtype), matrix(5, 2, dtype, seed=1)
    close(jnp.linalg.solve(a, b), np.linalg.solve(a, b), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_solve(dtype, lower):
    a = matrix(5, 5, dtype) + 5 * np.eye(5, dtype=dtype)
    b = matrix(5, 3, dtype, seed=2)
    x = np.asarray(jax.scipy.linalg.solve_triangular(a, b, lower=lower))
    close((np.tril(a) if lower else np.triu(a)) @ x, b, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur(dtype):
    a = matrix(5, 5, dtype)
    t, z = jax.scipy.linalg.schur(a)
    close(np.asarray(z) @ np.asarray(t) @ adjoint(np.asarray(z)), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_hessenberg(dtype):
    a = matrix(5, 5, dtype)
    h, q = jax.scipy.linalg.hessenberg(a, calc_q=True)
    close(np.asarray(q) @ np.asarray(h) @ adjoint(np.asarray(q)), a, dtype)
    close(np.tril(np.asarray(h), -2), np.zeros((5, 5)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pivoted_qr(dtype):
    a = matrix(6, 4, dtype)
    q, r, p = jax.scipy.linalg.qr(a, mode="economic", pivoting=True)
    close(np.asarray(q) @ np.asarray(r), a[:, np.asarray(p)], dtype)
    diagonal = np.abs(np.diag(np.asarray(r)))
    assert (diagonal[:-1] >= diagonal[1:] - tolerance(dtype)).all()


def test_lstsq_pinv_rank_det():
    a, b = matrix(6, 3, np.float32), matrix(6, 1, np.float32, seed=3)
    close(jnp.linalg.lstsq(a, b)[0], np.linalg.lstsq(a, b, rcond=None)[0], np.float32)
    close(jnp.linalg.pinv(a), np.linalg.pinv(a), np.float32)
    assert jnp.linalg.matrix_rank(a) == 3
    square = matrix(4, 4, np.float32)
    close(jnp.linalg.det(square), np.linalg.det(square), np.float32)


def test_gradient_of_eigenvalues():
    a = matrix(4, 4, np.float64)
    a = a + a.T
    gradient = jax.grad(lambda m: jnp.linalg.eigvalsh(m)[0])(a)
    vector = np.linalg.eigh(a)[1][:, 0]
    close(gradient, np.outer(vector, vector), np.float64)


def test_vmap_of_solve():
    a, b = matrix(4, 4, np.float32, batch=(3,)), matrix(4, 1, np.float32, seed=1, batch=(3,))
    close(jax.vmap(jnp.linalg.solve)(a, b), np.linalg.solve(a, b), np.float32)


def test_approximate_top_k_has_the_best():
    x = matrix(3, 50, np.float32)
    values, indices = jax.lax.approx_max_k(x, 4)
    np.testing.assert_array_equal(np.asarray(values), -np.sort(-x, axis=1)[:, :4])
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(indices), 1), np.asarray(values))
    values, _ = jax.lax.approx_min_k(x, 2, reduction_dimension=0)
    np.testing.assert_array_equal(np.asarray(values), np.sort(x, axis=0)[:2])


def test_sparse_solves_and_products():
    """Their rules are registered when jax.experimental.sparse is imported, which is after Cupel's."""
    from jax.experimental import sparse
    from jax.experimental.sparse.linalg import spsolve

    dense = np.diag(np.arange(2.0, 6.0)).astype(np.float32)
    dense[0, 2], dense[3, 1] = 0.5, -1.0
    matrix = sparse.BCSR.fromdense(dense)
    vector = np.arange(1.0, 5.0, dtype=np.float32)
    solve = jax.jit(lambda data, b: spsolve(data, matrix.indices, matrix.indptr, b))
    np.testing.assert_allclose(solve(matrix.data, vector), np.linalg.solve(dense, vector), rtol=1e-5)
    gradient = jax.grad(lambda b: solve(matrix.data, b).sum())(vector)
    np.testing.assert_allclose(gradient, np.linalg.solve(dense.T, np.ones(4, np.float32)), rtol=1e-5)
    np.testing.assert_allclose(sparse.CSR.fromdense(dense) @ vector, dense @ vector, rtol=1e-6)
