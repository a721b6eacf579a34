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
    PassesOnlyAsConfigured,
    PccConfig,
    check,
    comparison,
    run_graph_test,
    run_graph_test_with_random_inputs,
    run_op_test,
    run_op_test_with_random_inputs,
)
from cupel._native import Noise
from cupel.testing.comparison import Policy
from cupel.torch.arrays import to_array
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


def wrong_on_the_device(factor):
    """A function that is right the first time it is called, for the expected values, and scaled when it is compiled."""
    calls = iter(range(100))
    return lambda x: torch.tanh(x @ x) * (factor if next(calls) else 1.0)


def test_without_a_configuration_the_strict_rule_decides():
    """Correlation sees no scale: a result that is off by 1 % throughout passes upstream's default, and is wrong."""
    with pytest.raises(ComparisonError, match=r"result 0: .*beyond 8x noise.*in f32; looks like: scaled by 1.01"):
        run_op_test(wrong_on_the_device(1.01), [torch.randn(8, 8)], framework="torch")


def test_comparators_keep_their_meaning_and_the_strict_verdict_stands_beside():
    with pytest.warns(PassesOnlyAsConfigured, match=r"result 0 passes as configured \(pcc 1.*\); strict: .*scaled by 1.01"):
        run_op_test(wrong_on_the_device(1.01), [torch.randn(8, 8)], ComparisonConfig(), framework="torch")


def test_strict_decides_also_over_comparators_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(comparison.POLICY, "strict", True)
    with pytest.raises(ComparisonError, match="scaled by 1.01"):
        run_op_test(wrong_on_the_device(1.01), [torch.randn(8, 8)], ComparisonConfig(), framework="torch")


def test_limits_follow_from_the_noise_of_the_program():
    """What cancels is decided by rounding: limits of f32 alone would call this wrong."""

    def ill_conditioned(x, shift):
        return ((x + shift) - shift) * 1.0

    x, shift = torch.randn(64), torch.tensor(1e6)
    expected = ill_conditioned(x, shift)
    moved = expected + (torch.arange(64) % 3 - 1) * 0.0625
    arrays = [to_array(moved)], [to_array(expected)]
    program = b"""func.func @main(%x: tensor<64xf32>, %s: tensor<f32>) -> tensor<64xf32> {
      %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64xf32>
      %1 = stablehlo.add %x, %0 : tensor<64xf32>
      %2 = stablehlo.subtract %1, %0 : tensor<64xf32>
      return %2 : tensor<64xf32>
    }"""
    found, = check(*arrays, noise=Noise("f32", lambda: (program, [to_array(x), to_array(shift)])))
    assert found.rule == "strict" and "ill-conditioned" in found.sentence, found
    with pytest.raises(ComparisonError, match="no noise measured.*there is no program"):
        check(*arrays)
    with pytest.raises(ComparisonError, match="noise could not be measured"):
        check(*arrays, noise=Noise("f32", lambda: (b"not a program", [])))
    # What is declared counts: a rounding of fp8 is wider than that.
    assert check(*arrays, noise=Noise("fp8"))[0].passed


def test_numbers_of_comparators_are_the_librarys():
    config = ComparisonConfig()
    assert (config.pcc.required_pcc, config.atol.required_atol, config.allclose.rtol, config.allclose.atol) == (0.99, 0.16, 0.01, 0.01)


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


def test_the_limits_are_those_of_what_the_compiler_is_asked_for():
    assert Policy().precision_with({}) == "f32"
    assert Policy().precision_with({"precision": "bf16"}) == "bf16/f32"
    assert Policy(device="cupel?precision=bf16").precision_with({}) == "bf16/f32"
    assert Policy().precision_with({"precision": "bf16/bf16"}) == "bf16"
    assert Policy(device="cupel?precision=bf16/bf16").precision_with({}) == "bf16"
    assert Policy(precision="tf32").precision_with({"precision": "bf16"}) == "tf32"  # Whoever says more than that means it.
