"""gather and scatter with all kinds of dimension numbers."""

from __future__ import annotations

import numpy as np
from jax import lax

from .case import ALL, FLOATS, INTS, Case
from .draw import Draw


def indexing(d: Draw):
    """Dimension numbers common to gather and scatter: operand shape, index array, window sizes and where all go."""
    rank = d.integer(1, 4)
    shape = [max(1, d.size()) if d.chance(0.95) else d.size() for _ in range(rank)]
    dims = d.some(range(rank), rank)
    batching = dims[: d.integer(0, min(2, rank - 1))] if d.chance(0.35) else []
    rest = [n for n in range(rank) if n not in batching]
    collapsed = sorted(d.some(rest, d.integer(0, len(rest))))
    mapped = d.some(rest, d.integer(0, len(rest)))
    batch_rank = d.integer(len(batching), len(batching) + 2)
    batch = [d.size(4) for _ in range(batch_rank)]
    # JAX wants the index vector last.
    positions = d.some(range(batch_rank), len(batching))
    order = sorted(range(len(batching)), key=lambda i: batching[i])
    batching, positions = [batching[i] for i in order], [positions[i] for i in order]
    for dim, position in zip(batching, positions, strict=True):
        batch[position] = shape[dim]
    sizes = [min(1, shape[n]) if n in collapsed or n in batching else d.integer(min(1, shape[n]), shape[n]) for n in range(rank)]
    window = [sizes[n] for n in range(rank) if n not in collapsed and n not in batching]
    out_rank = batch_rank + len(window)
    offset = sorted(d.some(range(out_rank), len(window)))
    indices = d.index((*batch, len(mapped)), -2, max(shape) + 2)
    out, batch_sizes, window_sizes = [], list(batch), list(window)
    for n in range(out_rank):
        out.append(window_sizes.pop(0) if n in offset else batch_sizes.pop(0))
    return shape, indices, sizes, tuple(out), tuple(offset), tuple(collapsed), tuple(mapped), tuple(batching), tuple(positions)


MODES = [lax.GatherScatterMode.PROMISE_IN_BOUNDS] * 3 + [lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP]


def gather(d: Draw) -> Case:
    shape, indices, sizes, _, offset, collapsed, mapped, batching, positions = indexing(d)
    numbers = lax.GatherDimensionNumbers(offset, collapsed, mapped, batching, positions)
    mode = d.of(MODES)
    return Case(lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode), [d.values(shape, d.of(ALL)), indices], what=f"{numbers} {mode}")


def scatter(d: Draw) -> Case:
    shape, indices, _, out, offset, collapsed, mapped, batching, positions = indexing(d)
    numbers = lax.ScatterDimensionNumbers(offset, collapsed, mapped, batching, positions)
    mode = d.of(MODES)
    op = d.of([lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min, lax.scatter_max, lax.scatter_sub])
    dtype = d.of(INTS + FLOATS)
    bound = 1 if op is lax.scatter_mul else 3
    inputs = [d.small(shape, dtype, bound), indices, d.small(out, dtype, bound)]
    judge = None
    if not mapped or (mode != lax.GatherScatterMode.CLIP and partly_outside(shape, indices, out, numbers)):
        combine = {"scatter": lambda a, b: b, "scatter_add": np.add, "scatter_mul": np.multiply, "scatter_min": np.minimum, "scatter_max": np.maximum, "scatter_sub": np.subtract}[op.__name__]
        judge = lambda x, i, u: [scatter_by_element(x, i, u, numbers, combine)]  # noqa: E731 - KNOWN_DIFFERENCES: scatter windows
    return Case(lambda x, i, u: op(x, i, u, numbers, mode=mode), inputs, zeros=True, judge=judge, what=f"{op.__name__} {numbers} {mode}")


def scatter_position(index, indices, numbers, rank) -> list[int]:
    """Where an update goes, as the specification of scatter says."""
    batch = [n for at, n in enumerate(index) if at not in numbers.update_window_dims]
    window = [index[at] for at in numbers.update_window_dims]
    position = [0] * rank
    free = [n for n in range(rank) if n not in numbers.inserted_window_dims and n not in numbers.operand_batching_dims]
    for dim, offset in zip(free, window, strict=True):
        position[dim] += offset
    for dim, at in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        position[dim] += batch[at]
    for n, dim in enumerate(numbers.scatter_dims_to_operand_dims):
        position[dim] += int(indices[(*batch, n)])
    return position


def partly_outside(shape, indices, out, numbers) -> bool:
    inside_of: dict[tuple, set[bool]] = {}
    for index in np.ndindex(*out):
        position = scatter_position(index, indices, numbers, len(shape))
        batch = tuple(n for at, n in enumerate(index) if at not in numbers.update_window_dims)
        inside_of.setdefault(batch, set()).add(all(0 <= p < n for p, n in zip(position, shape, strict=True)))
    return any(len(kinds) > 1 for kinds in inside_of.values())


def scatter_by_element(x, indices, updates, numbers, combine) -> np.ndarray:
    result = x.copy()
    for index in np.ndindex(*updates.shape):
        position = tuple(scatter_position(index, indices, numbers, x.ndim))
        if all(0 <= p < n for p, n in zip(position, x.shape, strict=True)):
            result[position] = combine(result[position], updates[index])
    return result
