"""The model testers: depths, verdicts, settings, properties of the report, tables of operations, serialization."""

from __future__ import annotations

import json
import warnings

import jax
import jax.numpy as jnp
import pytest
import torch

from cupel.testing import (
    CompileDepth,
    CompilerConfig,
    ComparisonConfig,
    ComparisonError,
    IgnoredSetting,
    JaxModelTester,
    ModelTester,
    NotAsserted,
    OpByOpBackend,
    PccConfig,
    RunMode,
    TorchModelTester,
    verify_module,
)
from cupel.testing.model_tester import measure
from cupel.testing.op_tables import OpByOpError


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        return {"logits": self.second(torch.tanh(self.first(x))), "count": 3}


class Tester(ModelTester):
    __test__ = False

    def _load_model(self):
        return Small()

    def _load_inputs(self):
        return {"x": torch.linspace(-1, 1, 24).reshape(3, 8)}


class Unsteady(torch.nn.Module):
    """Gives other numbers when it is compiled."""

    def forward(self, x):
        return x * (2.0 if torch.compiler.is_compiling() else 1.0) + torch.arange(x.numel()).reshape(x.shape)


class WrongTester(Tester):
    def _load_model(self):
        return Unsteady()


def records(tester):
    kept = {}
    tester.record_property = lambda name, value: kept.setdefault(name, []).append(value)
    return kept


@pytest.mark.parametrize("depth", [depth for depth in CompileDepth if not depth.is_op_by_op], ids=lambda depth: depth.name)
def test_depths(depth):
    tester = Tester("small", "eval", compiler_config=CompilerConfig(compile_depth=depth))
    kept = records(tester)
    results = tester.test_model()
    tester.finalize()
    assert results["logits"].shape == (3, 4) and results["count"] == 3
    order = ["STABLEHLO", "TTNN_IR", "EXECUTE", "PASSED"]
    wanted = {CompileDepth.TORCH_FX: 0, CompileDepth.STABLEHLO: 1, CompileDepth.TTNN_IR: 2, CompileDepth.EXECUTE: 4}[depth]
    assert kept.get("achieved_compile_depth", []) == order[:wanted]
    tags = kept["tags"][0]
    status = {CompileDepth.TORCH_FX: "FAILED_TTMLIR_COMPILATION", CompileDepth.STABLEHLO: "FAILED_RUNTIME", CompileDepth.TTNN_IR: "FAILED_RUNTIME", CompileDepth.EXECUTE: "PASSED"}
    assert tags["bringup_status"] == status[depth] and tags["model_name"] == "small" and tags["judged_by"] == "strict", tags
    assert len(tags["pccs"]) == (1 if depth is CompileDepth.EXECUTE else 0) or tags["pccs"][0] > 0.999, tags
    assert kept["group"] == ["generality"] and kept["config.compiler_config"][0]["compile_depth"] == depth.name


def test_a_wrong_result_fails_in_finalize():
    tester = WrongTester("wrong", "eval")
    kept = records(tester)
    tester.test_model()
    with pytest.raises(ComparisonError, match="result 0"):
        tester.finalize()
    assert kept["tags"][0]["bringup_status"] == "INCORRECT_RESULT" and "PASSED" not in kept["achieved_compile_depth"]


def test_bounds_are_those_that_are_named():
    loose = WrongTester("wrong", "eval", required_pcc=0.5, required_atol=10.0)
    loose.test_model()
    loose.finalize()
    assert not loose.is_strict
    tight = WrongTester("wrong", "eval", required_pcc=0.5)
    tight.test_model()
    with pytest.raises(ComparisonError, match="largest difference is 1, required is 0.01"):
        tight.finalize()
    relative = WrongTester("wrong", "eval", required_pcc=0.5, relative_atol=0.5)
    relative.test_model()
    relative.finalize()


def test_what_is_not_asserted_is_told():
    tester = WrongTester("wrong", "eval", assert_pcc=False, assert_atol=False)
    tester.test_model()
    with pytest.warns(NotAsserted, match="largest difference"):
        tester.finalize()


def test_training_compares_the_gradient_of_the_input():
    class Training(Tester):
        def _load_inputs(self):
            return torch.linspace(-1, 1, 24).reshape(3, 8)

    tester = Training("small", "train")
    gradient = tester.test_model()
    tester.finalize()
    assert gradient.shape == (3, 8) and gradient.abs().sum() > 0
    with pytest.raises(ValueError, match="one tensor"):
        Tester("small", "train").test_model()


def test_numbers_of_a_comparison():
    a = torch.tensor([1.0, 2.0, float("nan"), float("inf")])
    assert measure(a, a.clone()) == (pytest.approx(1.0), 0.0) or measure(a, a.clone())[1] == 0.0
    assert measure(torch.tensor([1.0]), torch.tensor([1.5])) == (None, 0.5)
    assert measure(torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]))[1] != measure(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))[1]
    pcc, atol = measure(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, -2.0, -3.0]))
    assert pcc == pytest.approx(-1.0) and atol == 6.0


def test_settings_from_the_environment(monkeypatch):
    for name, value in (("TT_TORCH_COMPILE_DEPTH", "STABLEHLO"), ("TT_TORCH_VERIFY_OP_BY_OP", "1"), ("TT_TORCH_CHECK_ALL_OPS_EXECUTE", "0"), ("TT_TORCH_OPTIMIZER", "1"),
                        ("TT_TORCH_CONSTEVAL", "0"), ("TT_TORCH_SAVE_MLIR", "STABLEHLO,TTNN"), ("TT_TORCH_IR_LOG_LEVEL", "DEBUG")):
        monkeypatch.setenv(name, value)
    config = CompilerConfig()
    assert config.compile_depth is CompileDepth.STABLEHLO and config.verify_op_by_op and config.check_all_ops_execute and config.enable_optimizer
    assert not config.enable_consteval and config.save_mlir_override == ["STABLEHLO", "TTNN"] and config.dump_debug and not config.dump_info
    assert set(config.to_dict()) == {"compile_depth", "profile_ops", "torch_mlir_module", "stablehlo_mlir_module", "unique_ops", "stable_hlo_ops", "model_name", "results_path",
                                     "single_op_timeout", "enable_consteval", "enable_optimizer", "_consteval_parameters", "_enable_intermediate_verification", "_verify_op_by_op"}
    monkeypatch.setenv("TT_TORCH_COMPILE_DEPTH", "DEEP")
    with pytest.raises(ValueError, match="EXECUTE_OP_BY_OP"):
        CompilerConfig()


def test_the_environment_beats_the_test(monkeypatch):
    tester = Tester("small", "eval")
    monkeypatch.setenv("TT_TORCH_COMPILE_DEPTH", "STABLEHLO")
    kept = records(tester)
    tester.test_model()
    assert kept["achieved_compile_depth"] == ["STABLEHLO"]


def test_settings_without_a_meaning_are_named():
    config = CompilerConfig(enable_optimizer=True, mesh_shape=[1, 2], compile_depth=CompileDepth.TORCH_FX)
    assert set(config.ignored()) == {"enable_optimizer", "mesh_shape"}
    with pytest.warns(IgnoredSetting, match="enable_optimizer changes nothing"):
        Tester("small", "eval", compiler_config=config).test_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CompilerConfig().warn_of_ignored()
    with pytest.warns(IgnoredSetting, match="enable_constevall changes nothing: there is no such setting"):
        CompilerConfig().enable_constevall = True


def test_a_backend_of_operations_is_for_depths_that_have_some():
    """The documents allow STABLEHLO for whole models of ONNX alone."""
    config = CompilerConfig(op_by_op_backend=OpByOpBackend.STABLEHLO)
    with pytest.warns(IgnoredSetting, match="op_by_op_backend is for the depths"):
        Tester("small", "eval", compiler_config=config).test_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.warn_of_ignored(has_torch_operations=False)
        CompilerConfig(op_by_op_backend=OpByOpBackend.STABLEHLO, compile_depth=CompileDepth.EXECUTE_OP_BY_OP).warn_of_ignored()


@pytest.mark.parametrize("variable", ["TT_TORCH_FORCE_EXPERIMENTAL_BACKEND", "TT_TORCH_FORCE_LEGACY_BACKEND", "TT_TORCH_DISABLE_MODEL_REQS", "TT_TORCH_VERBOSE_MEMORY_TRACKER"])
def test_variables_without_a_meaning_are_named(monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.warns(IgnoredSetting, match=f"{variable} changes nothing"):
        CompilerConfig().warn_of_ignored()


class LlamaTester(Tester):
    """A model of transformers, with a key-value cache among its outputs."""

    def _load_model(self):
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        return LlamaForCausalLM(LlamaConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, vocab_size=32))

    def _load_inputs(self):
        return {"input_ids": torch.arange(8)[None], "use_cache": True}


def test_caches_of_transformers_are_outputs():
    pytest.importorskip("transformers")
    tester = LlamaTester("llama", "eval")
    kept = records(tester)
    tester.test_model()
    tester.finalize()
    assert len(kept["tags"][0]["pccs"]) == 3  # Logits, keys, values.


class SilentTester(Tester):
    def _load_model(self):
        return type("Silent", (torch.nn.Module,), {"forward": lambda self, x: None})()


def test_nothing_to_compare_is_no_pass():
    tester = SilentTester("silent", "eval")
    tester.test_model()
    with pytest.raises(AssertionError, match="gives nothing that could be compared"):
        tester.finalize()


def test_stages_are_saved(tmp_path):
    config = CompilerConfig(save_mlir_override=["STABLEHLO"], output_mlir_dir=str(tmp_path))
    tester = Tester("small model", "eval", compiler_config=config)
    tester.test_model()
    assert "stablehlo.dot_general" in (tmp_path / "small_model_stablehlo.mlir").read_text()


class Unknown(torch.nn.Module):
    def forward(self, x):
        return torch.ops.testers.unknown(torch.tanh(x)) + 1


@pytest.fixture(scope="module")
def unknown_operator():
    library = torch.library.Library("testers", "DEF")
    library.define("unknown(Tensor x) -> Tensor")
    library.impl("unknown", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("testers::unknown", lambda x: torch.empty_like(x), lib=library)
    yield
    library._destroy()


def test_op_by_op(tmp_path):
    config = CompilerConfig(compile_depth=CompileDepth.EXECUTE_OP_BY_OP, results_path=f"{tmp_path}/models/", check_all_ops_execute=True)
    tester = Tester("small", "eval", compiler_config=config, model_group="red")
    results = tester.test_model()
    tester.finalize()
    assert torch.equal(results["logits"], tester._golden["logits"])
    (file,) = (tmp_path / "models").rglob("*_unique_ops.json")
    assert file.relative_to(tmp_path / "models").as_posix() == "tests/testers/test_model_testers_py__test_op_by_op_unique_ops.json"
    table = json.loads(file.read_text())
    names = [record["framework_op_name"] for record in table.values()]
    assert any(name.startswith("aten.addmm") or name.startswith("aten.linear") for name in names) and "aten.tanh.default" in names, names
    assert all(record["compilation_status"] == 7 and record["passed"] and record["model_name"] == "small" and record["model_group"] == "red" for record in table.values())
    assert config.unique_ops == table


def test_a_model_that_cannot_be_lowered_gives_its_table(tmp_path, unknown_operator):
    class UnknownTester(Tester):
        def _load_model(self):
            return Unknown()

    config = CompilerConfig(compile_depth=CompileDepth.EXECUTE_OP_BY_OP, results_path=f"{tmp_path}/", check_all_ops_execute=True)
    tester = UnknownTester("unknown", "eval", compiler_config=config)
    tester.test_model()
    statuses = {record["framework_op_name"]: record["compilation_status"] for record in config.unique_ops.values()}
    assert statuses["testers.unknown.default"] == 2 and len(statuses) == 3, statuses
    with pytest.raises(ComparisonError, match="testers.unknown.default.*2 CONVERTED_TO_TORCH_IR"):
        tester.finalize()


def test_one_operation_of_a_table(tmp_path, monkeypatch):
    monkeypatch.setenv("RUN_GLOBAL_OP_IDX", "1")
    config = CompilerConfig(compile_depth=CompileDepth.EXECUTE_OP_BY_OP, results_path=f"{tmp_path}/", check_all_ops_execute=True)
    tester = Tester("small", "eval", compiler_config=config)
    tester.test_model()
    tester.finalize()
    (record,) = config.unique_ops.values()
    assert record["global_op_idx"] == 1 and record["compilation_status"] == 7
    monkeypatch.setenv("RUN_GLOBAL_OP_IDX", "77")
    with pytest.raises(OpByOpError, match="no operation stands there for the first time; there are 0, 1"):
        tester.test_model()


# --- bare modules --------------------------------------------------------------------------------------------------------------------------


class Mixed(torch.nn.Module):
    def forward(self, x, rows, keep):
        return torch.where(keep, x[rows].sum(), x.tanh()), x.argmax()


def test_a_bare_module_with_drawn_inputs():
    types = [torch.bfloat16, torch.int64, torch.bool]
    first, place = verify_module(Mixed(), input_shapes=[(8, 4), (3,), (8, 4)], input_data_types=types, input_range=(-2, 2), input_range_int=(0, 8))
    again, _ = verify_module(Mixed(), input_shapes=[(8, 4), (3,), (8, 4)], input_data_types=types, input_range=(-2, 2), input_range_int=(0, 8))
    assert first.dtype is torch.bfloat16 and torch.equal(first, again) and place.dtype is torch.int64
    with pytest.raises(ValueError, match="1 input_shapes and 2 input_data_types"):
        verify_module(Mixed(), input_shapes=[(2,)], input_data_types=types[:2])
    with pytest.raises(ValueError, match="give inputs= or input_shapes="):
        verify_module(Mixed())


class Changing(torch.nn.Module):
    """Another result when it is compiled: never what was expected."""

    def forward(self, x):
        return x + (1.0 if torch.compiler.is_compiling() else 0.0)


def test_a_bare_module_that_is_wrong():
    x = torch.zeros(4)
    with pytest.raises(ComparisonError):
        verify_module(Changing(), inputs=x)
    with pytest.raises(ComparisonError, match="largest difference is 1"):
        verify_module(Changing(), inputs=x, required_atol=0.5, required_pcc=0.0)
    with pytest.warns(NotAsserted):
        verify_module(Changing(), inputs=x, do_assert=False)


def test_a_bare_onnx_model(tmp_path):
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy")
    model = onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node("Tanh", ["x"], ["y"])], "g", [x], [y]), opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    (result,) = verify_module(model)
    assert tuple(result.shape) == (2, 3) and float(result.abs().max()) <= 0.5
    onnx.save(model, tmp_path / "m.onnx")
    (again,) = verify_module(tmp_path / "m.onnx")
    assert torch.equal(result, again)


# --- tt-xla's ------------------------------------------------------------------------------------------------------------------------------


class Affine:
    def __call__(self, parameters, x, scale=1.0):
        return jnp.tanh(x @ parameters["w"] + parameters["b"]) * scale


class AffineTester(JaxModelTester):
    def _get_model(self):
        return Affine()

    def _get_input_parameters(self):
        return {"w": jax.random.normal(jax.random.key(1), (8, 4)), "b": jnp.arange(4.0)}

    def _get_input_activations(self):
        return jax.random.normal(jax.random.key(2), (3, 8))

    def _get_forward_method_kwargs(self):
        return {"scale": 2.0}

    def _get_static_argnames(self):
        return ["scale"]


@pytest.mark.parametrize("mode", list(RunMode), ids=str)
def test_jax_models(mode):
    found = AffineTester(run_mode=mode).test()
    assert len(found) == (1 if mode is RunMode.INFERENCE else 4) and all(one.rule == "strict" for one in found), found


class SmallTester(TorchModelTester):
    def _get_model(self):
        return Small()

    def _get_input_activations(self):
        return {"x": torch.linspace(-1, 1, 24).reshape(3, 8)}


@pytest.mark.parametrize("mode", list(RunMode), ids=str)
def test_torch_models(mode):
    found = SmallTester(run_mode=mode).test()
    assert len(found) == (1 if mode is RunMode.INFERENCE else 5) and all(one.rule == "strict" for one in found), found


def test_a_wrong_model_fails():
    class Wrong(SmallTester):
        def _get_model(self):
            return Unsteady()

    with pytest.raises(ComparisonError):
        Wrong().test()
    (found,) = Wrong(ComparisonConfig(pcc=PccConfig(True, 0.5))).test()
    assert found.rule == "configured" and found.passes_only_as_configured


MODEL_TEST = """
import pytest, torch
from cupel.testing import TorchModelTester

class Tester(TorchModelTester):
    def _get_model(self):
        return torch.nn.GELU()
    def _get_input_activations(self):
        return torch.randn(4, 4)

@pytest.mark.filecheck(["gelu.stablehlo.mlir"])
def test_model(request):
    Tester().test(request=request)

@pytest.mark.filecheck(["other.stablehlo.mlir"])
def test_other(request):
    Tester().test(request=request)
"""


def test_filecheck_on_a_model(pytester):
    pytester.makepyfile(MODEL_TEST)
    (pytester.path / "gelu.stablehlo.mlir").write_text('// CHECK: stablehlo.composite "tenstorrent.gelu"\n')
    (pytester.path / "other.stablehlo.mlir").write_text("// CHECK: stablehlo.convolution\n")
    result = pytester.runpytest_subprocess("-p", "cupel.testing.pytest_plugin", "--serialize")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*other.stablehlo.mlir does not match*"])
    assert list((pytester.path / "output_artifact/test_model").rglob("*.mlir"))
