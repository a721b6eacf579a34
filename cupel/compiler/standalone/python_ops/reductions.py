"""Operations that fold elements with a function: reductions and windows."""

import itertools

import numpy as np

from .elementwise import add, logical_and, logical_or, logical_xor, maximum, minimum, multiply
from .movement import pad

_UFUNCS = {add: np.add, multiply: np.multiply, maximum: np.maximum, minimum: np.minimum,
           logical_and: np.bitwise_and, logical_or: np.bitwise_or, logical_xor: np.bitwise_xor}  # fmt: skip


def _accumulator(dtype):
    """Sums of f32 are formed in f64 and rounded once."""
    return {"f": np.float64, "c": np.complex128}.get(dtype.kind, dtype)


def each_element(body):
    """Lets a function of single elements, which may branch and loop, take tensors."""

    def run(*operands):
        operands = np.broadcast_arrays(*operands)
        results = [body(*[x[at] for x in operands]) for at in np.ndindex(operands[0].shape)]
        if results and isinstance(results[0], tuple):
            return tuple(np.array(part).reshape(operands[0].shape) for part in zip(*results))
        return np.array(results).reshape(operands[0].shape)

    return run


def reduce(inputs, inits, dimensions, body):
    inputs = [np.asarray(x) for x in inputs]
    if len(inputs) == 1 and body in _UFUNCS:
        x, ufunc = inputs[0], _UFUNCS[body]
        wide = _accumulator(x.dtype) if body in (add, multiply) else x.dtype
        if 0 in x.shape or not dimensions:
            result = np.full([n for d, n in enumerate(x.shape) if d not in dimensions], inits[0], wide)
            return body(result, x).astype(x.dtype) if not dimensions else result.astype(x.dtype)
        if body in (add, multiply):
            result = ufunc.reduce(x.astype(wide), tuple(dimensions), dtype=wide)
        else:
            result = ufunc.reduce(x, tuple(dimensions))
        return body(np.asarray(result, wide), np.asarray(inits[0], wide)).astype(x.dtype)
    kept = [d for d in range(inputs[0].ndim) if d not in dimensions]
    shape = [inputs[0].shape[d] for d in kept]
    folded = [x.transpose(sorted(dimensions) + kept).reshape([-1] + shape) for x in inputs]
    values = tuple(np.broadcast_to(init, shape) for init in inits)
    for i in range(folded[0].shape[0]):
        values = body(*values, *[x[i] for x in folded])
        values = values if len(inputs) > 1 else (values,)
    return values[0] if len(inputs) == 1 else values


def _windows(x, value, window_dimensions, window_strides, base_dilations, window_dilations, padding):
    """The elements at each place of the window, for all windows at once."""
    x = pad(x, value, padding[0::2], padding[1::2], [d - 1 for d in base_dilations])
    spans = [(n - 1) * d + 1 for n, d in zip(window_dimensions, window_dilations)]
    counts = [(n - span) // stride + 1 if n >= span else 0 for n, span, stride in zip(x.shape, spans, window_strides)]
    for place in itertools.product(*[range(n) for n in window_dimensions]):
        begin = [p * d for p, d in zip(place, window_dilations)]
        yield x[tuple(slice(b, b + max(n - 1, 0) * s + (1 if n else 0), s) for b, n, s in zip(begin, counts, window_strides))]


def reduce_window(inputs, inits, window_dimensions, window_strides, base_dilations, window_dilations, padding, body):
    inputs = [np.asarray(x) for x in inputs]
    window = (window_dimensions, window_strides, base_dilations, window_dilations, padding)
    dtypes = [x.dtype for x in inputs]
    if len(inputs) == 1 and body is add:
        inputs = [inputs[0].astype(_accumulator(dtypes[0]))]
        inits = [np.asarray(inits[0], inputs[0].dtype)]
    values = None
    for parts in zip(*[_windows(x, init, *window) for x, init in zip(inputs, inits)]):
        if values is None:
            values = tuple(np.broadcast_to(init, parts[0].shape) for init in inits)
        values = body(*values, *parts)
        values = values if len(inputs) > 1 else (values,)
    values = tuple(v.astype(t) for v, t in zip(values, dtypes))
    return values[0] if len(inputs) == 1 else values


def select_and_scatter(x, source, init, window_dimensions, window_strides, padding, select, scatter):
    """Of each window the element that select prefers gets what source has for the window."""
    x = np.asarray(x)
    ones = [1] * x.ndim
    window = (window_dimensions, window_strides, ones, ones, padding)
    numbers = np.arange(x.size).reshape(x.shape)
    value = place = None
    for now, where in zip(_windows(x, x.dtype.type(0), *window), _windows(numbers, -1, *window)):
        if value is None:
            value, place = now, where
            continue
        better = (where >= 0) & ((place < 0) | ~np.asarray(select(value, now), bool))
        value, place = np.where(better, now, value), np.where(better, where, place)
    result = np.full(x.size, init, np.asarray(source).dtype)
    for at, update in zip(place.reshape(-1), np.asarray(source).reshape(-1)):
        if at >= 0:
            result[at] = scatter(result[at], update)
    return result.reshape(x.shape)


__all__ = ["each_element", "reduce", "reduce_window", "select_and_scatter"]
