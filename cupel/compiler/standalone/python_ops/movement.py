"""Operations that move elements: shapes, slices, gathers, scatters and sorts."""

import functools

import numpy as np


def _sizes(shape):
    return tuple(int(size) for size in np.asarray(shape).reshape(-1))


def broadcast_in_dim(x, broadcast_dimensions, shape):
    """Dimension i of x becomes dimension broadcast_dimensions[i] of the result."""
    x = np.asarray(x)
    order = sorted(range(x.ndim), key=lambda i: broadcast_dimensions[i])
    x = x.transpose(order)
    sizes = [1] * len(shape)
    for i, d in enumerate(order):
        sizes[broadcast_dimensions[d]] = x.shape[i]
    shape = [sizes[i] if size < 0 else size for i, size in enumerate(shape)]
    return np.broadcast_to(x.reshape(sizes), shape)


def dynamic_broadcast_in_dim(x, shape, broadcast_dimensions):
    return broadcast_in_dim(x, broadcast_dimensions, _sizes(shape))


def broadcast(x, broadcast_sizes):
    return np.broadcast_to(x, tuple(broadcast_sizes) + np.shape(x))


def reshape(x, shape):
    return np.reshape(x, shape)


def dynamic_reshape(x, shape):
    return np.reshape(x, _sizes(shape))


def transpose(x, permutation):
    return np.transpose(x, permutation)


def reverse(x, dimensions):
    return np.flip(x, tuple(dimensions))


def concatenate(operands, dimension):
    return np.concatenate(operands, dimension)


def iota(iota_dimension, shape, dtype):
    count = dtype(np.arange(shape[iota_dimension])) if dtype.kind != "bool" else np.arange(shape[iota_dimension]) > 0
    return broadcast_in_dim(count, (iota_dimension,), shape)


def dynamic_iota(shape, iota_dimension, dtype):
    return iota(iota_dimension, _sizes(shape), dtype)


def strided_slice(x, start_indices, limit_indices, strides):
    return x[tuple(slice(*bounds) for bounds in zip(start_indices, limit_indices, strides))]


def _clamped(starts, sizes, shape):
    return [min(max(int(start), 0), whole - size) for start, size, whole in zip(starts, sizes, shape)]


def dynamic_slice(x, starts, slice_sizes):
    """Starts are moved so that the slice lies inside."""
    starts = _clamped(starts, slice_sizes, x.shape)
    return x[tuple(slice(start, start + size) for start, size in zip(starts, slice_sizes))]


def dynamic_update_slice(x, update, starts):
    starts = _clamped(starts, update.shape, x.shape)
    result = np.array(x)
    result[tuple(slice(start, start + size) for start, size in zip(starts, update.shape))] = update
    return result


def real_dynamic_slice(x, start_indices, limit_indices, strides):
    return strided_slice(x, _sizes(start_indices), _sizes(limit_indices), _sizes(strides))


def pad(x, value, edge_padding_low, edge_padding_high, interior_padding):
    """Negative padding takes elements away."""
    x = np.asarray(x)
    spread = [max(n - 1, 0) * inside + n for n, inside in zip(x.shape, interior_padding)]
    shape = [max(low + n + high, 0) for low, n, high in zip(edge_padding_low, spread, edge_padding_high)]
    inner = np.full(spread, value, x.dtype)
    inner[tuple(slice(None, None, inside + 1) for inside in interior_padding)] = x
    result = np.full(shape, value, x.dtype)
    to, of = [], []
    for low, n, size in zip(edge_padding_low, spread, shape):
        begin, end = max(low, 0), min(low + n, size)
        to.append(slice(begin, max(end, begin)))
        of.append(slice(begin - low, max(end, begin) - low))
    result[tuple(to)] = inner[tuple(of)]
    return result


def dynamic_pad(x, value, low, high, interior):
    return pad(x, value, _sizes(low), _sizes(high), _sizes(interior))


def bitcast_convert(x, source, dtype):
    """The same bits as another type; a dimension of parts comes or goes."""
    x = np.asarray(x)
    if source.is_held_wider:
        x = source.bits_of(x)
    elif source.kind == "bool":
        x = x.astype(np.uint8)
    raw = np.dtype(f"u{dtype.bits // 8}") if dtype.is_held_wider else dtype.dtype
    if source.bits < 8 or dtype.bits < 8:
        return _bitcast_small(x, source, dtype)
    x = np.ascontiguousarray(x).reshape(x.shape)
    if source.bits > dtype.bits:
        x = x.reshape(x.shape + (1,)).view(raw)
    elif source.bits < dtype.bits:
        x = x.view(raw).reshape(x.shape[:-1])
    else:
        x = x.view(raw)
    return dtype.from_bits(x) if dtype.is_held_wider else x


def _bitcast_small(x, source, dtype):
    mask = np.uint64((1 << source.bits) - 1) if source.bits < 64 else np.uint64(0xFFFFFFFFFFFFFFFF)
    wide = x.astype(np.int64).view(np.uint64) & mask if x.dtype.kind in "iu" else x.view(f"u{x.itemsize}").astype(np.uint64)
    if source.bits > dtype.bits:
        shifts = np.arange(source.bits // dtype.bits, dtype=np.uint64) * np.uint64(dtype.bits)
        wide = wide[..., None] >> shifts
    elif source.bits < dtype.bits:
        shifts = np.arange(dtype.bits // source.bits, dtype=np.uint64) * np.uint64(source.bits)
        wide = np.bitwise_or.reduce(wide << shifts, -1)
    if dtype.is_held_wider:
        return dtype.from_bits(wide.astype(f"u{dtype.bits // 8}"))
    if dtype.kind in ("int", "uint"):
        return dtype(wide)
    return wide.astype(f"u{dtype.bits // 8}").view(dtype.dtype)


def get_dimension_size(x, dimension):
    return np.int32(np.shape(x)[dimension])


def set_dimension_size(x, size, dimension):
    return x[(slice(None),) * dimension + (slice(0, int(size)),)]


def _index_grid(starts, sizes, window_dims, batch_shape):
    """For each operand dimension the indices of all windows: batch dimensions, then window ones."""
    index = []
    for d, start in enumerate(starts):
        start = start.reshape(batch_shape + (1,) * len(window_dims))
        if d in window_dims:
            axis = window_dims.index(d)
            offsets = np.arange(sizes[d]).reshape((-1,) + (1,) * (len(window_dims) - axis - 1))
            start = start + offsets
        index.append(start)
    return np.broadcast_arrays(*index) if index else []


def _starts(indices, rank, index_map, index_vector_dim, batching, indices_batching):
    """Where each window begins in every dimension, by the index vectors."""
    indices = np.asarray(indices)
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    else:
        indices = np.moveaxis(indices, index_vector_dim, -1)
    batch_shape = indices.shape[:-1]
    starts = [np.zeros(batch_shape, np.int64) for _ in range(rank)]
    for k, d in enumerate(index_map):
        starts[d] = indices[..., k].astype(np.int64)
    for d, at in zip(batching, indices_batching):
        at -= at > index_vector_dim
        size = batch_shape[at]
        starts[d] = np.broadcast_to(np.arange(size).reshape((size,) + (1,) * (len(batch_shape) - at - 1)), batch_shape)
    return starts, batch_shape


def gather(x, indices, offset_dims, collapsed_slice_dims, operand_batching_dims,
           start_indices_batching_dims, start_index_map, index_vector_dim, slice_sizes):  # fmt: skip
    x = np.asarray(x)
    slice_sizes = _sizes(slice_sizes)
    starts, batch_shape = _starts(indices, x.ndim, start_index_map, index_vector_dim,
                                  operand_batching_dims, start_indices_batching_dims)  # fmt: skip
    for d in start_index_map:
        starts[d] = np.clip(starts[d], 0, x.shape[d] - slice_sizes[d])
    window = [d for d in range(x.ndim) if d not in collapsed_slice_dims and d not in operand_batching_dims]
    shape = batch_shape + tuple(slice_sizes[d] for d in window)
    if 0 in shape:
        result = np.zeros(shape, x.dtype)
    else:
        result = x[tuple(_index_grid(starts, slice_sizes, window, batch_shape))].reshape(shape) if x.ndim else np.broadcast_to(x, shape)
    return np.moveaxis(result, range(len(batch_shape), len(shape)), offset_dims)


def dynamic_gather(x, indices, slice_sizes, **numbers):
    return gather(x, indices, slice_sizes=slice_sizes, **numbers)


def torch_index_select(x, index, dim, batch_dims):
    if batch_dims == 0:
        return np.take(x, index, axis=dim)
    return np.stack([torch_index_select(a, b, dim - 1, batch_dims - 1) for a, b in zip(x, index)])


def scatter(inputs, indices, updates, body, update_window_dims, inserted_window_dims, input_batching_dims,
            scatter_indices_batching_dims, scatter_dims_to_operand_dims, index_vector_dim, whole_windows=False):  # fmt: skip
    """Each update is combined with what is there, in the order of the updates."""
    inputs, updates = [np.array(x) for x in inputs], [np.asarray(u) for u in updates]
    shape = inputs[0].shape
    starts, batch_shape = _starts(indices, len(shape), scatter_dims_to_operand_dims, index_vector_dim,
                                  input_batching_dims, scatter_indices_batching_dims)  # fmt: skip
    window = [d for d in range(len(shape)) if d not in inserted_window_dims and d not in input_batching_dims]
    batch_axes = [d for d in range(updates[0].ndim) if d not in update_window_dims]
    order = batch_axes + list(update_window_dims)
    sizes = dict(zip(window, (updates[0].shape[d] for d in update_window_dims)))
    updates = [u.transpose(order).reshape(-1) for u in updates]
    if updates[0].size == 0 or inputs[0].size == 0:
        return inputs[0] if len(inputs) == 1 else tuple(inputs)
    full_sizes = [sizes.get(d, 1) for d in range(len(shape))]
    grid = _index_grid(starts, full_sizes, window, batch_shape)
    inside = np.ones((), bool)
    for d, index in enumerate(grid):
        if whole_windows:
            start = starts[d].reshape(batch_shape + (1,) * len(window))
            inside = inside & (start >= 0) & (start + full_sizes[d] <= shape[d])
        else:
            inside = inside & (index >= 0) & (index < shape[d])
    flat = np.zeros((), np.int64)
    for size, index in zip(shape, grid):
        flat = flat * size + np.where(inside, index, 0)
    everywhere = batch_shape + tuple(full_sizes[d] for d in window)
    keep = np.flatnonzero(np.broadcast_to(inside, everywhere))
    flat = np.broadcast_to(flat, everywhere).reshape(-1)[keep]
    updates = [u[keep] for u in updates]
    targets = [x.reshape(-1) for x in inputs]
    # Updates of one place must follow each other: first all first ones, then all second ones, ...
    by_place = np.argsort(flat, kind="stable")
    sorted_flat = flat[by_place]
    is_new = np.r_[True, sorted_flat[1:] != sorted_flat[:-1]] if flat.size else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(is_new, np.arange(flat.size), 0)) if flat.size else is_new
    turn = np.empty(flat.size, np.int64)
    turn[by_place] = np.arange(flat.size) - begin
    by_turn = np.argsort(turn, kind="stable")
    ends = np.cumsum(np.bincount(turn)) if flat.size else []
    at = 0
    for end in ends:
        now = by_turn[at:end]
        at = end
        places = flat[now]
        new = body(*[t[places] for t in targets], *[u[now] for u in updates])
        for target, value in zip(targets, new if len(targets) > 1 else (new,)):
            target[places] = value
    results = tuple(t.reshape(shape) for t in targets)
    return results[0] if len(results) == 1 else results


def sort(operands, dimension, comparator):
    """Stable, by any comparator."""
    operands = [np.moveaxis(np.asarray(x), dimension, -1) for x in operands]
    shape = operands[0].shape
    count = shape[-1]
    lines = [x.reshape(-1, count) for x in operands]
    order = np.empty(lines[0].shape, np.int64)
    step = max(1, (1 << 22) // max(1, count * count))
    for begin in range(0, len(order), step):
        part = [x[begin : begin + step] for x in lines]
        order[begin : begin + step] = _order(part, count, comparator)
    results = [np.moveaxis(np.take_along_axis(x, order, 1).reshape(shape), -1, dimension) for x in lines]
    return results[0] if len(results) == 1 else tuple(results)


def _order(lines, count, comparator):
    if count > 2048:
        return np.stack([_order_of_line([x[i] for x in lines], count, comparator) for i in range(len(lines[0]))])
    # before[n, i, j]: whether element i of line n comes before element j.
    sides = [side for x in lines for side in (x[:, :, None], x[:, None, :])]
    before = np.broadcast_to(comparator(*sides), (len(lines[0]), count, count))
    tied_earlier = ~before & ~before.transpose(0, 2, 1) & (np.arange(count)[:, None] < np.arange(count))
    rank = (before | tied_earlier).sum(1)
    return np.argsort(rank, axis=1, kind="stable")


def _order_of_line(line, count, comparator):
    def compare(i, j):
        if comparator(*[v for x in line for v in (x[i], x[j])]):
            return -1
        return int(bool(comparator(*[v for x in line for v in (x[j], x[i])])))

    return np.array(sorted(range(count), key=functools.cmp_to_key(compare)))


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("np", "functools")]
