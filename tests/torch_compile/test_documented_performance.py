"""The examples of the documents' "Improving Model Performance" and "Fusing and Composite Ops": imports are changed, the backend has our name, what they leave open
(`MyModel`, `my_op`) is filled in, and nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import cupel.torch as torch_xla
from cupel.testing import ComparisonConfig, Framework, run_graph_test
from cupel.torch import FusionProvider, StableHLOCompositeBuilder, composites, fusion, options, register_composite, unregister_composite


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch_xla.set_custom_compile_options({})


# --- Improving Model Performance -----------------------------------------------------------------------------------------------------------


def perform(model, input, near=1e-5):
    model.compile(backend="cupel")
    # Warmup iterations.
    with torch.no_grad():
        for _ in range(3):
            output = model(input)
        expected = model.forward(input)
    torch.testing.assert_close(output, expected, rtol=near, atol=near)


def mlp(dtype=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to(dtype=dtype)


def test_optimization_level():
    torch_xla.set_custom_compile_options({
        "optimization_level": 1,
    })  # fmt: skip
    assert options.parse(None).compile_options == {"optimization_level": 1}
    perform(mlp(), torch.randn(2, 16))


def test_weights_in_bfp8():
    model = mlp()
    model = model.to(dtype=torch.bfloat16)
    inputs = torch.randn(2, 16)
    inputs = inputs.to(torch.bfloat16)
    torch_xla.set_custom_compile_options({
        "experimental_weight_dtype": "bfp8", # Cast matmul weights to bfloat8_b
    })  # fmt: skip
    perform(model, inputs, near=5e-2)


def test_trace(monkeypatch):
    monkeypatch.setenv("TT_RUNTIME_TRACE_REGION_SIZE", "10000000")
    torch_xla.set_custom_compile_options({
        "enable_trace": "true",
    })  # fmt: skip
    perform(mlp(), torch.randn(2, 16))


def test_unknown_options_are_told_where_they_are_set():
    with pytest.raises(ValueError, match="no option 'optimisation_level'; did you mean 'optimization_level'"):
        torch_xla.set_custom_compile_options({"optimisation_level": 1})
    assert options.parse({"fusions": "Off"}).fusions is False
    with pytest.raises(ValueError, match="'fusions' is a bool, not 'perhaps'"):
        options.parse({"fusions": "perhaps"})
    torch_xla.set_custom_compile_options({"optimization_level": 1, "fusions": False})
    assert options.parse({"optimization_level": 0}).compile_options == {"optimization_level": 0}  # What a call says comes first.
    assert options.parse({"tt_enable_torch_fx_fusion_pass": True}).fusions is True


# --- Fusing and Composite Ops --------------------------------------------------------------------------------------------------------------


class MyModel(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x) + 1


@pytest.mark.parametrize("switches", [{}, {"tt_enable_torch_fx_fusion_pass": False, "tt_enable_composite_ops": True}, {"tt_enable_torch_fx_fusion_pass": False, "tt_enable_composite_ops": False}])
def test_switches(switches):
    model = MyModel()
    input = torch.randn(1, 32, 768)
    compiled = torch.compile(model, backend="cupel", options=switches)
    torch.testing.assert_close(compiled(input), model(input), rtol=1e-5, atol=1e-6)


def composite_gelu(input: Tensor, approximate: str = "none") -> Tensor:
    tanh = approximate == "tanh"
    name = "tenstorrent.gelu" + ("_tanh" if tanh else "")
    attr = {"approximate": "tanh"} if tanh else None

    builder = StableHLOCompositeBuilder(name=name, attr=attr)

    input = builder.mark_inputs(input)
    input = torch.nn.functional.gelu(input, approximate=approximate)
    input = builder.mark_outputs(input)

    return input


def test_patched_my_op(request):
    class MyModel(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.gelu(x, approximate="tanh")

    register_composite(torch.nn.functional.gelu, composite_gelu)
    try:
        options = {"tt_enable_composite_ops": True}
        input = torch.randn(32, 32)
        run_graph_test(
            MyModel(),
            [input],
            comparison_config=ComparisonConfig(),
            framework=Framework.TORCH,
            torch_options=options,
        )
    finally:
        unregister_composite(torch.nn.functional.gelu)
    assert torch.nn.functional.gelu not in composites.replacements


def test_my_op_fusion(request):
    class MyOpFusionProvider(FusionProvider):
        @property
        def name(self) -> str:
            return "my_op_fusion"

        @staticmethod
        def pattern(x: Tensor) -> Tensor:
            return x.mul(torch.sigmoid(x))

        @staticmethod
        def replacement(x: Tensor) -> Tensor:
            return torch.nn.functional.silu(x)

    class MyModel(torch.nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(x)

    options = {
        "tt_enable_torch_fx_fusion_pass": True,
        "tt_enable_composite_ops": True,
    }
    model = MyModel()
    input_tensor = torch.randn(1, 32, 32)
    try:
        run_graph_test(
            model,
            [input_tensor],
            comparison_config=ComparisonConfig(),
            framework=Framework.TORCH,
            torch_options=options,
            request=request,
        )
        assert fusion.counts["my_op_fusion"] == 1
    finally:
        FusionProvider._registered_providers.remove(MyOpFusionProvider)
