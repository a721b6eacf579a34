"""What a test says to a tester and means nothing is refused with what there is; a test that asked for it must not pass as another one."""

from __future__ import annotations

import math
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import torch

from cupel._files import plugin_path
from cupel.testing import (
    AllcloseConfig,
    AtolConfig,
    CompileDepth,
    CompilerConfig,
    ComparisonConfig,
    ComparisonError,
    IgnoredSetting,
    JaxModelTester,
    ModelTester,
    PccConfig,
    RunMode,
    TorchModelTester,
    comparison,
    run_op_test,
    run_op_test_with_random_inputs,
    verify_module,
)
from cupel.testing.op_tables import OpByOpError, csv_of

PLANTER = Path(plugin_path()).parent / "operation_planter.so"


class OfModel(ModelTester):
    def _load_model(self):
        return torch.nn.Tanh()

    def _load_inputs(self):
        return torch.linspace(-1, 1, 6)


class OfTorch(TorchModelTester):
    def _get_model(self):
        return torch.nn.Tanh()

    def _get_input_activations(self):
        return torch.linspace(-1, 1, 6)


class OfJax(JaxModelTester):
    def _get_model(self):
        return jnp.tanh

    def _get_input_activations(self):
        return jnp.linspace(-1, 1, 6)


@pytest.mark.parametrize(("given", "words"), [
    ({"backend": "nonsense"}, "there is no backend 'nonsense'; there are tt, tt-experimental, tt-legacy, cupel"),
    ({"required_pcc": "0.99"}, "required_pcc is a number, not '0.99'"),
    ({"required_pcc": -1}, "required_pcc is a number, above -1 and at most 1, not -1"),
    ({"required_pcc": 98}, "above -1 and at most 1, not 98"),
    ({"required_pcc": math.nan}, "not nan"),
    ({"required_atol": -0.1}, "required_atol is a number, at least 0, not -0.1"),
    ({"required_atol": math.inf}, "not inf"),
    ({"relative_atol": math.nan}, "relative_atol is a number"),
    ({"assert_pcc": "False"}, "assert_pcc is True or False, not 'False'"),
    ({"data_parallel_mode": "no"}, "data_parallel_mode is True or False"),
    ({"devices": [-1]}, "devices names devices by number, from 0 and each once"),
    ({"devices": "01"}, "devices is a list of whole numbers"),
    ({"devices": [0, 0]}, "each once"),
    ({"compiler_config": {"compile_depth": 1}}, "compiler_config is a CompilerConfig"),
    ({"record_property_handle": 3}, "record_property_handle is pytest's record_property"),
])
def test_of_a_model_tester(given, words):
    with pytest.raises(ValueError, match=words):
        OfModel("small", "eval", **given)


@pytest.mark.parametrize(("name", "value", "words"), [
    ("compile_depth", "EXCUTE", "is one of CompileDepth, not 'EXCUTE'; did you mean CompileDepth.EXECUTE?"),
    ("compile_depth", 6, "there are CompileDepth.TORCH_FX, "),
    ("op_by_op_backend", "torch", "did you mean OpByOpBackend.TORCH?"),
    ("single_op_timeout", 0, "is a number, above 0, not 0"),
    ("single_op_timeout", "30", "is a number, not '30'"),
    ("verify_op_by_op", "no", "is True or False, not 'no'"),
    ("save_mlir_override", "STABLEHLO", "is a list of names, not 'STABLEHLO'; there are STABLEHLO, TTIR, TTNN"),
    ("save_mlir_override", ["SHLO"], "there is no SHLO"),
    ("results_path", None, "is a text, not None"),
    ("compile_options", "optimization_level=1", "has options by their names"),
])
def test_of_a_compiler_config(name, value, words):
    for give in (lambda: CompilerConfig(**{name: value}), lambda: setattr(CompilerConfig(), name, value)):
        with pytest.raises(ValueError) as refused:
            give()
        assert str(refused.value).startswith(f"CompilerConfig.{name}") and words in str(refused.value)


@pytest.mark.parametrize("kind", [OfTorch, OfJax])
@pytest.mark.parametrize(("given", "words"), [
    ({"run_mode": "training"}, "run_mode is one of RunMode, not 'training'; did you mean RunMode.TRAINING?"),
    ({"run_mode": None}, "there are RunMode.INFERENCE, RunMode.TRAINING"),
    ({"comparison_config": {"pcc": 0.5}}, "comparison_config is a ComparisonConfig"),
    ({"comparison_config": ComparisonConfig(pcc=0.5)}, "ComparisonConfig.pcc is a PccConfig, not 0.5"),
    ({"comparison_config": ComparisonConfig(pcc=PccConfig(True, -1.0))}, "PccConfig.required_pcc is a number, above -1"),
    ({"comparison_config": ComparisonConfig(pcc=PccConfig("no"))}, "PccConfig.enabled is True or False"),
    ({"comparison_config": ComparisonConfig(atol=AtolConfig(True, -1.0))}, "AtolConfig.required_atol is a number, at least 0"),
    ({"comparison_config": ComparisonConfig(allclose=AllcloseConfig(True, math.inf))}, "AllcloseConfig.rtol is a number, at least 0, not inf"),
    ({"compiler_config": "optimization_level=1"}, "compiler_config has the compiler's options by name"),
    ({"compiler_config": CompilerConfig(compile_depth=CompileDepth.STABLEHLO)}, "compile_depth STABLEHLO is ModelTester's"),
])
def test_of_a_framework_tester(kind, given, words):
    with pytest.raises(ValueError) as refused:
        kind(**given)
    assert words in str(refused.value)


@pytest.mark.parametrize("kind", [OfTorch, OfJax])
def test_options_of_the_compiler_reach_it(kind):
    """JAX's tester took them and left them aside."""
    for config in ({"nonsense": 1}, CompilerConfig(compile_options={"nonsense": 1})):
        with pytest.raises(Exception, match="No such compile option: 'nonsense'"):
            kind(compiler_config=config).test()
    assert kind(compiler_config={"optimization_level": 0}).test()[0].passed


def test_options_of_the_compiler_reach_operations(tmp_path):
    config = CompilerConfig(compile_depth=CompileDepth.COMPILE_OP_BY_OP, results_path=f"{tmp_path}/", compile_options={"nonsense": 1})
    with pytest.raises(OpByOpError, match="No such .* option: 'nonsense'"):
        OfModel("small", "eval", compiler_config=config).test_model()


def test_configured_numbers_are_looked_at_when_they_are_used():
    config = ComparisonConfig()
    tester = OfTorch(config, RunMode.INFERENCE)
    config.pcc.required_pcc = math.nan
    with pytest.raises(ValueError, match="PccConfig.required_pcc"):
        run_op_test(torch.tanh, [torch.ones(2)], config)
    assert tester.test()[0].rule == "strict", "it was the default one"


@pytest.mark.parametrize(("call", "words"), [
    (lambda: run_op_test(torch.tanh, [torch.ones(2)], framework="tensorflow"), "there is no framework 'tensorflow'; there are jax, torch"),
    (lambda: run_op_test_with_random_inputs(torch.tanh, [(2,)], 5, -5, framework="torch"), "the smaller number first"),
    (lambda: run_op_test_with_random_inputs(torch.tanh, [2, 3], framework="torch"), "a shape an input"),
    (lambda: run_op_test_with_random_inputs(torch.tanh, [(2,)], dtype="float32", framework="torch"), "dtype is one of torch's"),
    (lambda: verify_module(torch.nn.Tanh(), input_shapes=[(2,)], input_range=(math.nan, 0)), "the first of input_range is a number"),
    (lambda: verify_module(torch.nn.Tanh(), input_shapes=[(2,)], input_range_int=7), "input_range_int is two numbers"),
])
def test_of_functions(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_variables_that_nobody_knows_are_named(monkeypatch):
    monkeypatch.setenv("TT_TORCH_COMPILE_DEPHT", "EXECUTE")
    with pytest.warns(IgnoredSetting, match="TT_TORCH_COMPILE_DEPHT changes nothing: there is no such variable; did you mean TT_TORCH_COMPILE_DEPTH?"):
        CompilerConfig().warn_of_ignored()


@pytest.mark.parametrize("value", ["abc", "7", "nan"])
def test_the_threshold_of_intermediates(monkeypatch, value):
    monkeypatch.setenv("RTI_PCC_FAIL_THRESH", value)
    with pytest.raises(ValueError, match=f"RTI_PCC_FAIL_THRESH={value}: it is a correlation"):
        csv_of({})


@pytest.mark.parametrize("call", [lambda: OfJax().test(), lambda: run_op_test(jnp.tanh, [jnp.linspace(-1, 1, 6)]), lambda: run_op_test(torch.tanh, [torch.linspace(-1, 1, 6)])],
                         ids=["JaxModelTester", "JAX operation", "torch operation"])
def test_they_run_on_the_device_that_pytest_was_given(monkeypatch, call):
    """They ran on ours, whatever --cupel-device named."""
    call()
    monkeypatch.setattr(comparison.POLICY, "device", f"{PLANTER}?op=stablehlo.tanh&effect=negate")
    with pytest.raises(ComparisonError):
        call()
    monkeypatch.setattr(comparison.POLICY, "device", "/no/such/plugin.so")
    with pytest.raises(Exception, match="/no/such/plugin.so: no such file"):
        call()


def test_numbers_and_keys_of_jax_on_a_plugin(monkeypatch):
    """What has no dimension, Python's own numbers and keys of random numbers go in as JAX has them."""
    monkeypatch.setattr(comparison.POLICY, "device", "cupel?num_devices=2")

    def graph(x, key, *, scale):
        return (x * scale).sum() + jax.random.uniform(key), x.astype(jnp.bfloat16)

    run_op_test(graph, [jnp.arange(4.0), jax.random.key(0)], framework="jax", scale=3.0)
