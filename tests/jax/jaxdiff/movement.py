"""Operations that move, choose or order elements."""

from __future__ import annotations

import numpy as np
from jax import lax

from .case import ALL, BOOL, COMPLEX, FLOATS, INTS, Case
from .draw import Draw


def movement(d: Draw) -> Case:
    dtype = d.of(ALL)
    shape = d.shape(1, 4)
    rank = len(shape)
    x = d.values(shape, dtype)
    kind = d.of(["slice", "pad", "pad", "concatenate", "reverse", "transpose", "reshape", "broadcast_in_dim", "iota", "dynamic_slice", "dynamic_update_slice"])
    if kind == "slice":
        starts = [d.integer(0, n) for n in shape]
        limits = [d.integer(s, n) for s, n in zip(starts, shape, strict=True)]
        strides = [d.integer(1, 4) for _ in shape]
        return Case(lambda v: lax.slice(v, starts, limits, strides), [x], what=kind)
    if kind == "pad":
        config = [(d.integer(-3, 3), d.integer(-3, 3), d.integer(0, 3)) for _ in shape]
        return Case(lambda v, p: lax.pad(v, p, config), [x, d.values((), dtype)], what=f"pad {config}")
    if kind == "concatenate":
        axis = d.integer(0, rank - 1)
        inputs = [d.values(shape[:axis] + (d.size(),) + shape[axis + 1 :], dtype) for _ in range(d.integer(1, 4))]
        return Case(lambda *v: lax.concatenate(v, axis), inputs, what=kind)
    if kind == "reverse":
        axes = d.some(range(rank), d.integer(0, rank))
        return Case(lambda v: lax.rev(v, axes), [x], what=kind)
    if kind == "transpose":
        axes = d.some(range(rank), rank)
        return Case(lambda v: lax.transpose(v, axes), [x], what=kind)
    if kind == "reshape":
        sizes = d.some(shape, rank)
        if d.chance(0.3):
            sizes = [int(np.prod(shape)), 1]
        return Case(lambda v: lax.reshape(v, sizes), [x], what=kind)
    if kind == "broadcast_in_dim":
        out_rank = rank + d.integer(0, 2)
        dims = sorted(d.some(range(out_rank), rank))
        out = [d.size() for _ in range(out_rank)]
        source = list(shape)
        for i, dim in enumerate(dims):
            if d.chance(0.4):
                source[i] = 1
            else:
                out[dim] = source[i]
        return Case(lambda v: lax.broadcast_in_dim(v, out, dims), [d.values(source, dtype)], what=kind)
    if kind == "iota":
        axis, dtype = d.integer(0, rank - 1), d.of(INTS + FLOATS + COMPLEX)
        return Case(lambda: lax.broadcasted_iota(dtype, shape, axis), [], what=kind)
    sizes = [d.integer(0 if d.chance(0.05) else min(1, n), n) for n in shape]
    index_type = d.of([np.int32, np.int64, np.int8, np.uint32, np.uint8])
    low = 0 if np.dtype(index_type).kind == "u" else -3
    starts = [np.array(d.integer(low, n + 3), index_type) for n in shape]
    if kind == "dynamic_slice":
        return Case(lambda v, *s: lax.dynamic_slice_p.bind(v, *s, slice_sizes=tuple(sizes)), [x, *starts], what=kind)
    return Case(lambda v, u, *s: lax.dynamic_update_slice_p.bind(v, u, *s), [x, d.values(sizes, dtype), *starts], what=kind)


def numpy_index(d: Draw) -> Case:
    """Indexing as NumPy has it, negative steps included."""
    shape = d.shape(1, 4)
    x = d.values(shape, d.of(ALL))
    index = []
    for n in shape:
        bounds = [None if d.chance(0.3) else d.integer(-n - 2, n + 2) for _ in range(2)]
        index.append(slice(*bounds, d.of([1, 2, 3, -1, -2, -3])))
    index = tuple(index)
    return Case(lambda v: v[index], [x], judge=lambda v: [v[index]], what=str(index))


def sort(d: Draw) -> Case:
    shape = d.shape(1, 3, 12)
    axis = d.integer(0, len(shape) - 1)
    operands = [d.values(shape, d.of(BOOL + INTS + FLOATS)) for _ in range(d.integer(1, 3))]
    for i, x in enumerate(operands):
        if d.chance(0.3):
            operands[i] = d.small(shape, x.dtype, 2)
    keys = d.integer(1, len(operands))
    return Case(lambda *v: lax.sort(v, dimension=axis, is_stable=True, num_keys=keys), operands, what=f"{keys} keys")


def top_k(d: Draw) -> Case:
    shape = d.shape(1, 3, 12)
    k = d.integer(0, shape[-1])
    return Case(lambda v: lax.top_k(v, k), [d.small(shape, d.of(INTS + FLOATS))], what=f"k={k}")
