"""Fusions of users through JAX: the option fusion_patterns."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

FILE = str(Path(__file__).resolve().parents[1] / "lit/cli/Inputs/fusions.pdll")


def compiled(**options):
    return jax.jit(lambda x: -(-x) * np.full(4, 2, np.float32)).lower(np.ones(4, np.float32)).compile(compiler_options={"fusion_patterns": FILE, **options})


def test_counts_and_results():
    made = compiled()
    assert made.cost_analysis()["fusions"] == "double_negation 1, twice 1, never 0"
    np.testing.assert_array_equal(made(np.arange(4, dtype=np.float32)), np.arange(4) * 2)


def test_toggle():
    assert compiled(without_fusion_patterns="twice").cost_analysis()["fusions"] == "double_negation 1, twice off, never 0"


def test_a_file_that_is_not_there():
    with pytest.raises(Exception, match="fusion_patterns.*none.pdll"):
        jax.jit(jnp.sin).lower(np.float32(1)).compile(compiler_options={"fusion_patterns": "none.pdll"})
