"""All families with their weights, and drawing a case."""

from __future__ import annotations

import os
from collections.abc import Callable

import jax
import numpy as np

from . import control, elementwise, indexing, linear, movement, reductions, subnormals, transcendental
from .case import Case, Reject
from .draw import Draw

FAMILIES: dict[str, tuple[int, Callable[[Draw], Case]]] = {
    "unary": (6, elementwise.unary_exact), "reduce_precision": (1, elementwise.reduce_precision), "binary": (8, elementwise.binary_exact),
    "shift": (2, elementwise.shift), "compare": (3, elementwise.compare), "select_clamp": (3, elementwise.select_clamp),
    "integer_pow": (1, elementwise.integer_pow), "convert": (7, elementwise.convert), "bitcast": (2, elementwise.bitcast), "chain": (2, elementwise.chain),
    "subnormals": (3, subnormals.subnormals), "subnormal_conversions": (1, subnormals.conversions),
    "transcendental": (6, transcendental.transcendental), "transcendental_binary": (2, transcendental.transcendental_binary), "steps": (1, transcendental.in_steps),
    "complex": (3, transcendental.complex_functions), "complex_arithmetic": (2, transcendental.complex_arithmetic), "complex_nonfinite": (2, transcendental.complex_nonfinite),
    "movement": (10, movement.movement), "numpy_index": (2, movement.numpy_index), "sort": (3, movement.sort), "top_k": (1, movement.top_k),
    "gather": (6, indexing.gather), "scatter": (6, indexing.scatter),
    "reduce": (6, reductions.reduce), "reduce_window": (6, reductions.reduce_window), "select_and_scatter": (2, reductions.select_and_scatter), "cumulative": (2, reductions.cumulative),
    "dot": (6, linear.dot), "convolution": (7, linear.convolution), "fft": (2, linear.fft), "linear_algebra": (3, linear.linear_algebra), "gradients": (2, linear.gradients),
    "control": (2, control.control), "random_bits": (1, control.random_bits),
}  # fmt: skip


def case_of(seed: int, number: int, only: list[str]) -> Case:
    d = Draw(seed, number)
    names = only or list(FAMILIES)
    weights = np.array([FAMILIES[n][0] for n in names], float)
    for _ in range(200):
        name = names[int(d.rng.choice(len(names), p=weights / weights.sum()))]
        try:
            case = FAMILIES[name][1](d)
            case.inputs = [np.asarray(x) for x in case.inputs]
            jax.eval_shape(case.call, *case.inputs)
        except (Reject, TypeError, ValueError, NotImplementedError, ZeroDivisionError, IndexError) as error:
            if os.environ.get("DIFFERENTIAL_SHOW_REJECTS") and not isinstance(error, Reject):
                print(f"rejected {name}: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        case.family, case.number = name, number
        return case
    raise RuntimeError(f"no valid case found for seed {seed}, case {number}")
