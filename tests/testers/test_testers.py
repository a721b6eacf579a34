"""The testers on JAX and PyTorch functions: what passes, what must fail, and what they say."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
import torch

from cupel.testing import (
    AllcloseConfig,
    ComparisonConfig,
    ComparisonError,
    EqualConfig,
    PccConfig,
    run_graph_test,
    run_graph_test_with_random_inputs,
    run_op_test,
    run_op_test_with_random_inputs,
)
from cupel.worker import instructions

EXACT = ComparisonConfig(equal=EqualConfig(True), pcc=PccConfig(False))


def test_jax_op():
    run_op_test(jnp.add, [jnp.arange(6.0).reshape(2, 3), jnp.ones((2, 3))], EXACT)


def test_jax_random_inputs():
    run_op_test_with_random_inputs(jnp.matmul, [(8, 16), (16, 4)], framework="jax")
    run_op_test_with_random_inputs(jnp.add, [(3,), (3,)], minval=-5, maxval=5, dtype=jnp.int32, framework="jax", comparison_config=EXACT)
    run_op_test_with_random_inputs(jnp.logical_and, [(64,), (64,)], dtype=jnp.bool_, framework="jax", comparison_config=EXACT)


def test_jax_graph_with_keywords_and_trees():
    def graph(tree, *, scale):
        return {"a": tree["x"] * scale, "b": (tree["x"].sum(),)}

    run_graph_test(graph, [{"x": jnp.arange(4.0)}], framework="jax", scale=jnp.float32(3))


def test_torch_op():
    run_op_test(torch.add, [torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)], EXACT)
    run_op_test(torch.nn.Linear(4, 2), [torch.randn(3, 4)])


def test_torch_random_inputs():
    run_op_test_with_random_inputs(torch.matmul, [(8, 16), (16, 4)], framework="torch")
    run_op_test_with_random_inputs(torch.bitwise_xor, [(9,), (9,)], 0, 100, dtype=torch.int16, comparison_config=EXACT)
    run_graph_test_with_random_inputs(lambda x: torch.relu(x).sum(0), [(4, 5)], -1, 1, dtype=torch.bfloat16)


def test_lowered_instructions_are_told_once(monkeypatch, caplog):
    monkeypatch.setattr(instructions, "settle", lambda: "ONEDNN_MAX_CPU_ISA=AVX2: it had to be")
    instructions.settle_once.cache_clear()
    for _ in range(2):
        run_op_test(torch.add, [torch.ones(2), torch.ones(2)], EXACT)
    instructions.settle_once.cache_clear()
    assert [record.getMessage() for record in caplog.records if record.name == "cupel"] == [
        "torch computes expected values with ONEDNN_MAX_CPU_ISA=AVX2: it had to be"]


def test_a_difference_fails():
    calls = iter(range(100))

    def unsteady(x):
        return x * (1.0 + next(calls))

    with pytest.raises(ComparisonError, match="result 0: "):
        run_op_test(unsteady, [torch.randn(16)], ComparisonConfig(allclose=AllcloseConfig(True)))


def test_a_comparison_that_cannot_fail_is_refused():
    config = ComparisonConfig()
    config.disable_all()
    with pytest.raises(ValueError, match="could not fail"):
        run_op_test(torch.sin, [torch.ones(2)], config)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no tensor"):
        run_op_test(lambda x: x.shape[0], [torch.ones(2)])


def test_the_framework_must_be_known():
    with pytest.raises(ValueError, match="pass framework="):
        run_op_test(max, [1.0, 2.0])
