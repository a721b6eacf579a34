"""Products, convolutions, transforms and linear algebra. Sums of f32 are formed in f64."""

import itertools

import numpy as np

from .movement import pad


def _wide(x):
    return np.asarray(x).astype({"f": np.float64, "c": np.complex128}.get(np.asarray(x).dtype.kind, np.asarray(x).dtype))


def dot_general(a, b, lhs_batching_dimensions, rhs_batching_dimensions, lhs_contracting_dimensions,
                rhs_contracting_dimensions, dtype):  # fmt: skip
    """Batch dimensions, then what is left of a, then what is left of b."""
    a, b = np.asarray(a), np.asarray(b)
    a_rest = [d for d in range(a.ndim) if d not in lhs_batching_dimensions and d not in lhs_contracting_dimensions]
    b_rest = [d for d in range(b.ndim) if d not in rhs_batching_dimensions and d not in rhs_contracting_dimensions]
    batch = [a.shape[d] for d in lhs_batching_dimensions]
    rows, columns = [a.shape[d] for d in a_rest], [b.shape[d] for d in b_rest]
    inner = [a.shape[d] for d in lhs_contracting_dimensions]
    if dtype.kind in ("int", "uint", "bool"):
        a, b = dtype(a), dtype(b)
    else:
        a, b = _wide(a), _wide(b)
    count = int(np.prod(inner, dtype=np.int64))
    size = int(np.prod(rows, dtype=np.int64)), int(np.prod(columns, dtype=np.int64))
    a = a.transpose(list(lhs_batching_dimensions) + a_rest + list(lhs_contracting_dimensions)).reshape(batch + [size[0], count])
    b = b.transpose(list(rhs_batching_dimensions) + list(rhs_contracting_dimensions) + b_rest).reshape(batch + [count, size[1]])
    return dtype(np.matmul(a, b).reshape(batch + rows + columns))


def dot(a, b, dtype):
    return dot_general(a, b, (), (), (np.ndim(a) - 1,), (0,), dtype)


def convolution(x, kernel, input_dims, kernel_dims, output_dims, window_strides, padding, lhs_dilation,
                rhs_dilation, window_reversal, feature_group_count, batch_group_count, dtype):  # fmt: skip
    """Dimensions are given as (batch, feature, spatial...), those of the kernel as (input, output, spatial...)."""
    wide = _wide if dtype.kind in ("float", "complex") else dtype
    x = wide(x).transpose(input_dims)
    kernel = wide(kernel).transpose([kernel_dims[1], kernel_dims[0], *kernel_dims[2:]])
    flipped = tuple(i + 2 for i, is_reversed in enumerate(window_reversal) if is_reversed)
    kernel = np.flip(kernel, flipped) if flipped else kernel
    x = pad(x, x.dtype.type(0), (0, 0, *padding[0::2]), (0, 0, *padding[1::2]), (0, 0, *[d - 1 for d in lhs_dilation]))
    spans = [(n - 1) * d + 1 for n, d in zip(kernel.shape[2:], rhs_dilation)]
    counts = [max((n - span) // stride + 1, 0) for n, span, stride in zip(x.shape[2:], spans, window_strides)]
    groups = feature_group_count * batch_group_count
    if batch_group_count > 1:
        parts = np.split(x, batch_group_count, 0)
    else:
        parts = np.split(x, feature_group_count, 1)
    results = []
    for part, weights in zip(parts, np.split(kernel, groups, 0)):
        total = np.zeros([part.shape[0], weights.shape[0], *counts], part.dtype)
        for place in itertools.product(*[range(n) for n in weights.shape[2:]]):
            begin = [p * d for p, d in zip(place, rhs_dilation)]
            seen = part[(slice(None), slice(None)) + tuple(
                slice(b, b + max(n - 1, 0) * s + (1 if n else 0), s) for b, n, s in zip(begin, counts, window_strides))]  # fmt: skip
            product = np.tensordot(weights[(slice(None), slice(None)) + place], seen, ((1,), (1,)))
            total = total + np.moveaxis(product, 0, 1)
        results.append(total)
    result = np.concatenate(results, 1)
    return dtype(result.transpose(np.argsort(output_dims)))


def dynamic_conv(x, kernel, padding, **numbers):
    return convolution(x, kernel, padding=tuple(int(p) for p in np.asarray(padding).reshape(-1)), **numbers)


def einsum(a, b, einsum_config, dtype):
    if dtype.kind in ("int", "uint", "bool"):
        return dtype(np.einsum(einsum_config, dtype(a), dtype(b)))
    return dtype(np.einsum(einsum_config, _wide(a), _wide(b)))


def unary_einsum(a, einsum_config, dtype):
    return dtype(np.einsum(einsum_config, a if dtype.kind in ("int", "uint", "bool") else _wide(a)))


def cholesky(x, lower):
    """Only one triangle is read; what is not positive definite gives NaN."""
    x = np.asarray(x)
    wide = _wide(x)
    matrix = np.tril(wide) if lower else np.conj(np.swapaxes(np.triu(wide), -1, -2))
    result = np.zeros_like(matrix)
    for j in range(matrix.shape[-1]):
        row = result[..., j, :j]
        diagonal = np.real(matrix[..., j, j]) - np.sum(np.real(row * np.conj(row)), -1)
        root = np.sqrt(diagonal)
        result[..., j, j] = root
        below = matrix[..., j + 1 :, j] - np.matmul(result[..., j + 1 :, :j], np.conj(row)[..., None])[..., 0]
        result[..., j + 1 :, j] = below / root[..., None]
    result = result if lower else np.conj(np.swapaxes(result, -1, -2))
    return result.astype(x.dtype)


def triangular_solve(a, b, left_side, lower, unit_diagonal, transpose_a):
    a, b = np.asarray(a), np.asarray(b)
    dtype, a, b = b.dtype, _wide(a), _wide(b)
    a = np.tril(a) if lower else np.triu(a)
    if transpose_a != "NO_TRANSPOSE":
        a, lower = np.swapaxes(a, -1, -2), not lower
    if transpose_a == "ADJOINT":
        a = np.conj(a)
    if not left_side:
        a, b, lower = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not lower
    x = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)
    count = a.shape[-1]
    for i in range(count) if lower else range(count - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, count)
        rest = b[..., i, :] - np.matmul(a[..., i, None, known], x[..., known, :])[..., 0, :]
        x[..., i, :] = rest if unit_diagonal else rest / a[..., i, i, None]
    return (x if left_side else np.swapaxes(x, -1, -2)).astype(dtype)


def fft(x, fft_type, fft_length):
    axes = tuple(range(-len(fft_length), 0))
    x = np.asarray(x)
    narrow = x.dtype in (np.float32, np.complex64)
    function = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[fft_type]
    if 0 in x.shape:
        last = {"RFFT": fft_length[-1] // 2 + 1, "IRFFT": fft_length[-1]}.get(fft_type, x.shape[-1])
        result = np.zeros(x.shape[:-1] + (last,), np.float64 if fft_type == "IRFFT" else np.complex128)
    else:
        result = function(_wide(x), fft_length, axes)
    if result.dtype.kind == "c":
        return result.astype(np.complex64 if narrow else np.complex128)
    return result.astype(np.float32 if narrow else np.float64)


def _by_feature(values, x, feature_index):
    return _wide(values).reshape([-1 if d == feature_index else 1 for d in range(x.ndim)])


def batch_norm_inference(x, scale, offset, mean, variance, epsilon, feature_index):
    x, wide = np.asarray(x), _wide(x)
    scale, offset, mean, variance = (_by_feature(v, x, feature_index) for v in (scale, offset, mean, variance))
    return (scale * (wide - mean) / np.sqrt(variance + epsilon) + offset).astype(x.dtype)


def batch_norm_training(x, scale, offset, epsilon, feature_index):
    x = np.asarray(x)
    axes = tuple(d for d in range(x.ndim) if d != feature_index)
    mean, variance = _wide(x).mean(axes), _wide(x).var(axes)
    output = batch_norm_inference(x, scale, offset, mean, variance, epsilon, feature_index)
    return output, mean.astype(x.dtype), variance.astype(x.dtype)


def batch_norm_grad(x, scale, mean, variance, grad_output, epsilon, feature_index):
    x = np.asarray(x)
    axes = tuple(d for d in range(x.ndim) if d != feature_index)
    count = x.size // max(1, x.shape[feature_index])
    centered, grad = _wide(x) - _by_feature(mean, x, feature_index), _wide(grad_output)
    root = np.sqrt(_by_feature(variance, x, feature_index) + epsilon)
    offset_grad = grad.sum(axes)
    product = (grad * centered).sum(axes)
    scale_grad = product / root.reshape(-1)
    inner = count * grad - _by_feature(offset_grad, x, feature_index) - centered * _by_feature(product, x, feature_index) / root**2
    x_grad = _by_feature(scale, x, feature_index) / root / count * inner
    return x_grad.astype(x.dtype), scale_grad.astype(x.dtype), offset_grad.astype(x.dtype)


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("np", "itertools", "pad")]
