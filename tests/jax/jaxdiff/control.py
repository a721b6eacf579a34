"""Loops and branches, and random bits."""

from __future__ import annotations

import numpy as np
from jax import lax

from .case import INTS, Case
from .draw import Draw


def control(d: Draw) -> Case:
    dtype, shape = d.of(INTS + [np.float32]), d.shape(0, 2)
    kind = d.integer(0, 3)
    x = d.small(shape, dtype)
    if kind == 0:
        return Case(lambda v, n: lax.fori_loop(0, n, lambda i, a: lax.add(a, v), v), [x, np.array(d.integer(-1, 6), np.int32)], zeros=True, what="loop")
    if kind == 1:
        branches = d.integer(1, 4)
        which = np.array(d.integer(-2, branches + 1), np.int32)
        return Case(lambda i, v: lax.switch(i, [lambda a, k=k: lax.add(a, lax.full_like(a, k)) for k in range(branches)], v), [which, x], what="switch")
    if kind == 2:
        return Case(lambda p, v: lax.cond(p, lambda a: lax.neg(a), lambda a: lax.add(a, a), v), [d.values((), np.bool_), x], zeros=True, what="cond")
    xs = d.small((d.size(5), *shape), dtype)
    return Case(lambda c, v: lax.scan(lambda a, b: (lax.add(a, b), lax.sub(a, b)), c, v), [x, xs], zeros=True, what="scan")


def random_bits(d: Draw) -> Case:
    dtype = d.of([np.uint8, np.uint16, np.uint32, np.uint64])
    algorithm = d.of([lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX])
    words = 2 if algorithm == lax.RandomAlgorithm.RNG_THREE_FRY else 4
    key = d.rng.integers(0, 2**32, 4, dtype=np.uint32)
    shape = tuple(max(1, n) for n in d.shape(1, 3, 9))
    del words
    return Case(lambda k: lax.rng_bit_generator(k, shape, dtype, algorithm), [key], what=f"{algorithm} {np.dtype(dtype).name}")
