"""The examples of the documents (tt-torch's "How to add model tests", tt-xla's "Test Infra"): their imports are changed, what they leave open (`....`, `<test_name>`)
is filled in, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
import torch
import onnx
from onnx import TensorProto, helper, numpy_helper

from cupel.testing import CompileDepth, CompilerConfig, ComparisonConfig, JaxModelTester, ModelTester, OnnxModelTester, OpByOpBackend, RunMode, run_graph_test_with_random_inputs, run_op_test, run_op_test_with_random_inputs

# --- tt-xla, op and graph tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x_shape, y_shape", [((32, 32), (32, 32))])
def test_add(x_shape: tuple, y_shape: tuple):
    def add(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.add(x, y)

    run_op_test_with_random_inputs(add, [x_shape, y_shape], framework="jax")  # This file has torch as well.


class MyOp(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


def test_my_op(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)


def test_graph():
    run_graph_test_with_random_inputs(lambda x, y: jnp.tanh(x @ y), [(8, 8), (8, 8)], framework="jax")


# --- tt-xla, a model -----------------------------------------------------------------------------------------------------------------------


class MNISTMLPModel(nn.Module):
    hidden_sizes: tuple[int]

    @nn.compact
    def __call__(self, x: jax.Array):
        x = x.reshape((x.shape[0], -1))

        for h in self.hidden_sizes:
            x = nn.Dense(features=h)(x)
            x = nn.relu(x)

        x = nn.Dense(features=10)(x)
        x = nn.softmax(x)

        return x


class MNISTMLPTester(JaxModelTester):
    def __init__(
        self,
        hidden_sizes: Sequence[int],
        comparison_config: ComparisonConfig = ComparisonConfig(),
        run_mode: RunMode = RunMode.INFERENCE,
    ) -> None:
        self._hidden_sizes = hidden_sizes
        super().__init__(comparison_config, run_mode)

    # @override
    def _get_model(self) -> nn.Module:
        return MNISTMLPModel(self._hidden_sizes)

    # @override
    def _get_forward_method_name(self) -> str:
        return "apply"

    # @override
    def _get_input_activations(self) -> Sequence[jax.Array]:
        key = jax.random.PRNGKey(37)
        img = jax.random.normal(key, (4, 28, 28, 1))  # B, H, W, C
        # Channels is 1 as MNIST is in grayscale.
        return img

    # @override
    def _get_forward_method_args(self):
        inp = self._get_input_activations()

        parameters = self._model.init(jax.random.PRNGKey(42), inp)

        return [parameters, inp]


@pytest.fixture
def inference_tester(request) -> MNISTMLPTester:
    return MNISTMLPTester(request.param)


@pytest.mark.parametrize(
    "inference_tester", [(256, 128, 64)], indirect=True, ids=lambda val: f"{val}"
)
def test_mnist_mlp_inference(inference_tester: MNISTMLPTester):
    inference_tester.test()


@pytest.fixture
def model_tester() -> MNISTMLPTester:
    return MNISTMLPTester((16,))


def test_my_model(model_tester: MNISTMLPTester, request):
    model_tester.test(request=request)


# --- tt-torch, a PyTorch model -------------------------------------------------------------------------------------------------------------


class ThisTester(ModelTester): # or class ThisTester(OnnxModelTester):
    def _load_model(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        return model
    def _load_inputs(self):
        inputs = torch.linspace(-1, 1, 24).reshape(3, 8)
        return inputs

# you can pytest parameterize certain arguments. i.e. Mode, OpByOpBackend, Model Name
@pytest.mark.parametrize(
    "mode",
    ["train", "eval"],
)
@pytest.mark.parametrize(
    "model_name",
    [
        "model_name_0",
        "model_name_1",
    ],
)
@pytest.mark.parametrize(
    "op_by_op",
    [OpByOpBackend.STABLEHLO, OpByOpBackend.TORCH, None],
    ids=["op_by_op_stablehlo", "op_by_op_torch", "full"],
)
# For PyTorch Tests
@pytest.mark.filterwarnings("ignore::cupel.testing.IgnoredSetting")
def test_this(record_property, model_name, mode, op_by_op, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # Where results/models goes.

    cc = CompilerConfig()
    cc.enable_consteval = True
    cc.consteval_parameters = True
    if op_by_op:
        cc.compile_depth = CompileDepth.EXECUTE_OP_BY_OP
        if op_by_op == OpByOpBackend.STABLEHLO:
            cc.op_by_op_backend = OpByOpBackend.STABLEHLO

    tester = ThisTester(
        model_name,
        mode,
        compiler_config=cc,
        record_property_handle=record_property,
    )
    results = tester.test_model()

    if mode == "eval":
        # code to evaluate the output is as expected
        assert results.shape == (3, 4)
    tester.finalize()


# --- tt-torch, an ONNX model ---------------------------------------------------------------------------------------------------------------


class ThisOnnxTester(OnnxModelTester):
    def _load_model(self):
        weight = numpy_helper.from_array(torch.linspace(-1, 1, 32).reshape(8, 4).numpy(), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Tanh", ["y"], ["z"])], "small",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 8])], [helper.make_tensor_value_info("z", TensorProto.FLOAT, [3, 4])], [weight])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model

    def _load_inputs(self):
        inputs = torch.linspace(-1, 1, 24).reshape(3, 8)
        return inputs


@pytest.mark.parametrize("mode", ["eval"])
@pytest.mark.parametrize("model_name", ["small_onnx"])
@pytest.mark.parametrize("op_by_op", [OpByOpBackend.STABLEHLO, None], ids=["op_by_op_stablehlo", "full"])
# For Onnx Tests:
def test_this_onnx(record_property, model_name, mode, op_by_op, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cc = CompilerConfig()
    if op_by_op:
        cc.compile_depth = CompileDepth.EXECUTE_OP_BY_OP
        cc.op_by_op_backend = OpByOpBackend.STABLEHLO

    tester = ThisOnnxTester(
        model_name,
        mode,
        compiler_config=cc,
        record_property_handle=record_property,
        model_group="red",
    )

    results = tester.test_model()
    if mode == "eval":
        # code to evaluate the output is as expected
        assert results[0].shape == (3, 4)
    tester.finalize()
