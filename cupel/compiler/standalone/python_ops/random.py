"""Random bits by the algorithms ThreeFry (2x32, 20 rounds) and Philox (4x32, 10 rounds)."""

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
SEED = 0
_drawn = 0


def _threefry(key, counter):
    """Two 32-bit words for each 64-bit counter."""
    k0, k1 = np.uint32(key & _LOW), np.uint32(key >> _32)
    keys = (k0, k1, np.uint32(0x1BD11BDA) ^ k0 ^ k1)
    x = (counter & _LOW).astype(np.uint32) + k0
    y = (counter >> _32).astype(np.uint32) + k1
    for group in range(1, 6):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[(group - 1) % 2]:
            x = x + y
            y = ((y << np.uint32(by)) | (y >> np.uint32(32 - by))) ^ x
        x = x + keys[group % 3]
        y = y + keys[(group + 1) % 3] + np.uint32(group)
    return x, y


def _philox(key, low, high):
    """Four 32-bit words for each 128-bit counter."""
    k0, k1 = np.uint32(key & _LOW), np.uint32(key >> _32)
    x = [(low & _LOW).astype(np.uint32), (low >> _32).astype(np.uint32),
         (high & _LOW).astype(np.uint32), (high >> _32).astype(np.uint32)]  # fmt: skip
    for _ in range(10):
        first, second = x[0].astype(np.uint64) * np.uint64(0xD2511F53), x[2].astype(np.uint64) * np.uint64(0xCD9E8D57)
        x = [(second >> _32).astype(np.uint32) ^ x[1] ^ k0, (second & _LOW).astype(np.uint32),
             (first >> _32).astype(np.uint32) ^ x[3] ^ k1, (first & _LOW).astype(np.uint32)]  # fmt: skip
        k0, k1 = k0 + np.uint32(0x9E3779B9), k1 + np.uint32(0xBB67AE85)
    return x


def _joined(low, high):
    return low.astype(np.uint64) | (high.astype(np.uint64) << _32)


def _as_type(words, dtype):
    if dtype.is_held_wider:
        return dtype.from_bits(words.astype(f"u{dtype.bits // 8}"))
    if dtype.kind in ("int", "uint"):
        return dtype(words.astype(np.uint64))
    if dtype.kind == "bool":
        return (words & words.dtype.type(1)) != 0
    return words.astype(f"u{dtype.bits // 8}").view(dtype.dtype)


def _plus(low, high, n):
    total = low + n
    return total, high + (total < low).astype(np.uint64)


def rng_bit_generator(state, rng_algorithm, shape, dtype):
    words = np.ascontiguousarray(state).reshape(-1).view(np.uint64).copy()
    key, count = words[0], int(np.prod(shape, dtype=np.int64))
    if rng_algorithm == "THREE_FRY":
        bits, used = _threefry_bits(key, words[1], shape, dtype)
        words[1] += np.uint64(used)
    else:
        per = 2 if dtype.bits == 64 else 4
        used = -(-count // per)
        high = words[2] if words.size == 3 else key
        low, high_part = _plus(words[1], np.full(used, high, np.uint64), np.arange(used, dtype=np.uint64))
        x = _philox(key, low, high_part)
        drawn = np.stack([_joined(x[0], x[1]), _joined(x[2], x[3])], 1) if per == 2 else np.stack(x, 1)
        bits = _as_type(drawn.reshape(-1)[:count], dtype).reshape(shape)
        after = _plus(words[1], np.array([high], np.uint64), np.uint64(used))
        if words.size == 3:
            words[2] = after[1][0]
        words[1] = after[0]
    state_type = np.asarray(state).dtype
    return words.view(state_type).reshape(np.shape(state)), bits


def _threefry_bits(key, start, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.bits == 64:
        x, y = _threefry(key, start + np.arange(count, dtype=np.uint64))
        return _as_type(_joined(x, y), dtype).reshape(shape), count
    if len(shape) == 0:
        return _as_type(_threefry(key, np.array([start], np.uint64))[0], dtype).reshape(shape), 1
    # Pairs of words are neighbours in the first even dimension, or in the longest one.
    even = [d for d, n in enumerate(shape) if n % 2 == 0]
    split = even[0] if even else int(np.argmax(shape))
    outer, size = int(np.prod(shape[:split], dtype=np.int64)), shape[split]
    inner, half = int(np.prod(shape[split + 1 :], dtype=np.int64)), (shape[split] + 1) // 2
    used = outer * half * inner
    x, y = _threefry(key, start + np.arange(used, dtype=np.uint64))
    pairs = np.stack([x.reshape(outer, half, inner), y.reshape(outer, half, inner)], 2)
    words = pairs.reshape(outer, 2 * half, inner)[:, :size]
    return _as_type(np.ascontiguousarray(words).reshape(-1), dtype).reshape(shape), used


def _words(count):
    """64-bit words of a stream of their own; each call draws another."""
    global _drawn
    used = -(-count // 2)
    stream = np.full(used, _drawn, np.uint64)
    _drawn += 1
    x = _philox(np.uint64(SEED), np.arange(used, dtype=np.uint64), stream)
    return np.stack([_joined(x[0], x[1]), _joined(x[2], x[3])], 1).reshape(-1)


def rng(a, b, shape, rng_distribution, dtype):
    shape = tuple(int(n) for n in np.asarray(shape).reshape(-1))
    count = int(np.prod(shape, dtype=np.int64))
    words = _words(count)
    if rng_distribution == "NORMAL":
        u = ((words[0::2] >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53
        angle = (words[1::2] >> np.uint64(12)).astype(np.float64) * (2 * np.pi * 2.0**-52)
        radius = np.sqrt(-2 * np.log(u))
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count]
        return dtype(np.float64(a) + np.float64(b) * pairs).reshape(shape)
    words = words[:count]
    if dtype.kind == "bool":
        return ((words & np.uint64(1)) != 0).reshape(shape)
    if dtype.kind == "float":
        first, last = np.float64(a), np.float64(b)
        value = dtype(first + (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * (last - first))
        return np.where(value.astype(np.float64) < last, value, dtype(a)).reshape(shape)
    if b <= a:
        return np.full(shape, a, dtype.dtype)
    first, last = (np.asarray(v).astype(np.int64 if dtype.kind == "int" else np.uint64).astype(np.uint64) for v in (a, b))
    return dtype(first + words % (last - first)).reshape(shape)


__all__ = ["rng", "rng_bit_generator"]
