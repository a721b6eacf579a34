"""What shows only in results that rounding decides: a device that is wrong there is found by pieces, in every tester, and a right one passes."""

from __future__ import annotations

import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from cupel._files import plugin_path
from cupel.testing import ComparisonConfig, ComparisonError, JaxModelTester, ModelTester, NotJudgedByPieces, OnnxModelTester, TorchModelTester, check, comparison, pieces, run_op_test
from cupel._native import Array, Noise, RanOn
from cupel.torch.arrays import to_array

PLANTER = Path(plugin_path()).parent / "operation_planter.so"
ROWS = torch.randn(512, 32, generator=torch.Generator().manual_seed(7))
X = torch.randn(4, 32, generator=torch.Generator().manual_seed(8))


def torch_picks(x: torch.Tensor) -> torch.Tensor:
    """Rows that are chosen by scores which are all the same but for roundings, and then a tanh of which nothing else speaks."""
    rows = ROWS + x.sum() * 0.0625
    scores = (rows.abs() + 1).mean(-1) * 0 + (rows * rows).sum(-1).sqrt() / torch.linalg.vector_norm(rows, dim=-1)
    return torch.tanh(rows[torch.topk(scores, 64).indices] * 0.5)


def jax_picks(x):
    rows = jnp.asarray(ROWS.numpy()) + x.sum() * 0.0625
    scores = jnp.sqrt((rows * rows).sum(-1)) / jnp.sqrt(jnp.sum(jnp.square(rows * 3), -1) / 9)
    return jnp.tanh(rows[jax.lax.top_k(scores, 64)[1]] * 0.5)


class Picks(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch_picks(x)


class OfModel(ModelTester):
    def _load_model(self):
        return Picks()

    def _load_inputs(self):
        return X


class OfTorch(TorchModelTester):
    def _get_model(self):
        return Picks()

    def _get_input_activations(self):
        return X


class OfJax(JaxModelTester):
    def _get_model(self):
        return jax_picks

    def _get_input_activations(self):
        return jnp.asarray(X.numpy())


class OfOnnx(OnnxModelTester):
    def _load_model(self):
        nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Mul", ["sum", "small"], ["shift"]), helper.make_node("Add", ["rows", "shift"], ["moved"]),
                 helper.make_node("ReduceL2", ["moved", "axes"], ["norm"], keepdims=0), helper.make_node("Mul", ["moved", "moved"], ["squares"]),
                 helper.make_node("ReduceSum", ["squares", "axes"], ["sums"], keepdims=0), helper.make_node("Sqrt", ["sums"], ["roots"]), helper.make_node("Mul", ["norm", "third"], ["part"]),
                 helper.make_node("Mul", ["roots", "third"], ["other"]), helper.make_node("Div", ["part", "other"], ["scores"]), helper.make_node("TopK", ["scores", "count"], ["best", "places"]),
                 helper.make_node("Gather", ["moved", "places"], ["chosen"]), helper.make_node("Tanh", ["chosen"], ["y"])]
        values = {"rows": ROWS.numpy(), "small": numpy.float32(0.0625), "third": numpy.float32(1 / 3), "axes": numpy.array([-1]), "count": numpy.array([64])}
        graph = helper.make_graph(nodes, "picks", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 32])],
                                  [numpy_helper.from_array(numpy.asarray(value), name) for name, value in values.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def _load_torch_inputs(self):
        return X


def model(kind):
    def run():
        tester = kind("picks", "eval")
        tester.test_model()
        tester.finalize()

    return run


TESTERS = {"ModelTester": model(OfModel), "OnnxModelTester": model(OfOnnx), "TorchModelTester": lambda: OfTorch().test(), "JaxModelTester": lambda: OfJax().test(),
           "run_op_test": lambda: run_op_test(Picks(), [X])}


@pytest.mark.parametrize("name", TESTERS)
def test_a_wrong_device_is_found_by_pieces(monkeypatch, name):
    monkeypatch.setattr(comparison.POLICY, "device", f"{PLANTER}?op=stablehlo.tanh&effect=negate")
    with pytest.raises(ComparisonError, match=r"piece \d+ of \d+ .*is wrong when it is fed right values: .*"):
        TESTERS[name]()


@pytest.mark.parametrize("name", TESTERS)
def test_a_right_device_passes(monkeypatch, name):
    asked = []
    monkeypatch.setattr(comparison, "complaint", lambda noise: asked.append(set(noise.decided)) or pieces.complaint(noise))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotJudgedByPieces)
        TESTERS[name]()
    assert asked == [{0}], "the whole told too little"


def test_a_narrow_device_is_judged_by_pieces_whatever_decides(monkeypatch):
    generator, records, run = torch.Generator().manual_seed(3), [], pieces._run
    layers = [torch.randn(64, 64, generator=generator) / 8 for _ in range(4)]

    def deep(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = torch.tanh(x @ layer)
        return x

    monkeypatch.setattr(comparison.POLICY, "precision", "bf16")
    monkeypatch.setattr(pieces, "_run", lambda *given: records.append(run(*given)) or records[-1])
    run_op_test(deep, [torch.randn(2, 64, generator=generator)], framework="torch")
    assert [record["notes"]["by pieces"] for record in records] == ["8 of 8 pieces are right when they are fed right values"]


def ill_conditioned(ran_on: RanOn | None) -> list:
    """A result that is another one altogether, and within the noise of its program."""
    program = b"""func.func @main(%x: tensor<64xf32>, %s: tensor<f32>) -> tensor<64xf32> {
      %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64xf32>
      %1 = stablehlo.add %x, %0 : tensor<64xf32>
      %2 = stablehlo.subtract %1, %0 : tensor<64xf32>
      return %2 : tensor<64xf32>
    }"""
    x, shift = torch.randn(64, generator=torch.Generator().manual_seed(0)), torch.tensor(1e7)
    expected = (x + shift) - shift
    return check([to_array(expected + (torch.arange(64) % 3 - 1))], [to_array(expected)], noise=Noise("f32", lambda: (program, [to_array(x), to_array(shift)]), ran_on))


def test_results_of_no_device_have_no_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "_run", lambda *given: pytest.fail("nothing is run for it"))
    assert ill_conditioned(None)[0].passed


def test_what_cannot_be_taken_apart_is_told():
    with pytest.warns(NotJudgedByPieces, match=r"rounding decides result 0\), and not judged by pieces: .*no_such_plugin.so"):
        assert ill_conditioned(RanOn("/no_such_plugin.so", {}))[0].passed


def test_types_that_files_have_no_name_for_are_told():
    noise = Noise("bf16", lambda: (b"", [Array(0, 0, (0,), "i2")]), RanOn("cupel", {}))
    with pytest.warns(NotJudgedByPieces, match="the device computes in bf16.*arrays of i2 cannot be kept"):
        assert not pieces.complaint(noise)


def test_comparators_decide_alone(monkeypatch):
    monkeypatch.setattr(comparison, "complaint", lambda noise: pytest.fail("the test's own comparators decide"))
    run_op_test(torch.tanh, [X], ComparisonConfig())
