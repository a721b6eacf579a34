"""Loaders that replace functions of frameworks or set their options: the next test meets them as they were, and no golden result of theirs is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from test_run import ROOT

from cupel._files import command_path
from cupel.worker import golden_cache, patches

INFO = """
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Fault", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.{framework})
"""
TORCH = """
import assay, torch
from assay.layers import Layer, scaled
from unittest import mock
from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class Mine(Layer):
    def forward(self, x):
        return x * 0

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = assay.layers.Layer()

    def forward(self, x):
        return assay.layers.scaled(self.layer(x))

class ModelLoader(ForgeModel):
""" + INFO.format(framework="TORCH") + """
    def build(self):
        {build}
        return Model()

    def make_inputs(self, batch_size, generator):
        return torch.randn((4, 8), generator=generator)
"""
# A library that nobody knows of beforehand.
LIBRARY = """
import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)

    def other(self, x):
        return x

def scaled(x):
    return x * 2

def halved(x):
    return x / 2
"""
JAX = """
import jax, numpy as np
from flax import nnx
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask
from ...jax_base import JaxForgeModel

class Model(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(8, 8, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return jax.nn.relu(self.layer(x))

class ModelLoader(JaxForgeModel):
""" + INFO.format(framework="JAX") + """
    def build(self):
        {build}
        return Model()

    def make_arrays(self, batch_size, random):
        return {{"x": jax.numpy.asarray(random.standard_normal((4, 8), dtype=np.float32))}}
"""
ONNX = """
import numpy as np, onnx, torch
from onnx import TensorProto, helper, numpy_helper
from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class ModelLoader(ForgeModel):
""" + INFO.format(framework="ONNX") + """
    def build(self): ...

    def make_inputs(self, batch_size, generator):
        return torch.randn((4, 8), generator=generator)

    def load_model(self, onnx_tmp_path, **kwargs):
        {build}
        weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])], [numpy_helper.from_array(weights, "w")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
"""
# They run one after another, by name, in one worker, with what is remembered of the one before.
AS_IT_WAS = "import assay; assert assay.layers.Layer().forward.__code__.co_name == 'forward' and 'assay' in assay.layers.Layer.forward.__code__.co_filename and assay.layers.scaled(4) == 8"
LOADERS = {
    "1_replaces_a_method/pytorch": (TORCH, "Layer.forward = lambda self, x: x * 0"),
    "2_good/pytorch": (TORCH, AS_IT_WAS),
    "3_replaces_a_class/pytorch": (TORCH, "assay.layers.Layer = Mine"),
    "4_good/pytorch": (TORCH, AS_IT_WAS),
    "5_takes_another_of_the_library/pytorch": (TORCH, "assay.layers.scaled = assay.layers.halved"),
    "6_good/pytorch": (TORCH, AS_IT_WAS),
    "7_leaves_a_stand_in/pytorch": (TORCH, "mock.patch('assay.layers.scaled', side_effect=lambda x: x).start()"),
    "8_good/pytorch": (TORCH, AS_IT_WAS),
    "a_replaces_a_layer/jax": (JAX, "nnx.Linear.__call__ = lambda self, x: x * 0"),
    "b_good/jax": (JAX, "assert 'lambda' not in nnx.Linear.__call__.__qualname__"),
    "c_sets_options/jax": (JAX, "jax.config.update('jax_disable_jit', True); jax.config.update('jax_enable_x64', True)"),
    "d_good/jax": (JAX, "assert not jax.config.jax_disable_jit and not jax.config.jax_enable_x64"),
    "e_leaves_a_process/jax": (JAX, "import os, time; os.fork() or time.sleep(1000)"),
    "f_good/jax": (JAX, "pass"),
    "g_replaces_the_runtime/onnx": (ONNX, "import onnxruntime; onnxruntime.InferenceSession.run = lambda self, *given, **named: [np.full((4, 8), 3, np.float32)]"),
    "h_good/onnx": (ONNX, "pass"),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    for package in ("flax", "onnxruntime"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("patches")
    zoo = folder / "tt_forge_models"
    zoo.mkdir()
    for name in ("__init__.py", "base.py", "config.py", "jax_base.py"):
        (zoo / name).write_text((ROOT / "zoo/models" / name).read_text())
    for name, (text, build) in LOADERS.items():
        (zoo / name).mkdir(parents=True)
        (zoo / name / "loader.py").write_text(text.format(build=build))
    (folder / "library/assay").mkdir(parents=True)
    (folder / "library/assay/__init__.py").write_text("from . import layers\n")
    (folder / "library/assay/layers.py").write_text(LIBRARY)
    surroundings = {name: value for name, value in os.environ.items() if name != golden_cache.VARIABLE} | {"CUPEL_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder / "library")}
    done = subprocess.run([command_path(), "run", "--zoo", zoo, "--frameworks", "pytorch,jax,onnx", "-k", "single_device and inference", "--suite", "models,onnx", "--device", "cupel", "-j", "1",
                           "--python", sys.executable, "--results", folder / "results", "--json", folder / "run.json"], capture_output=True, text=True, check=False, timeout=900, env=surroundings)
    tests = {test["model_path"].split("/")[0]: test for test in json.loads((folder / "run.json").read_text())["tests"]}
    assert len(tests) == len(LOADERS), done.stdout + done.stderr
    return tests


@pytest.mark.parametrize("name", [name.partition("/")[0] for name in LOADERS if "good" in name])
def test_what_comes_next_meets_the_framework_as_it_was(ran: dict[str, dict], name: str) -> None:
    assert ran[name]["outcome"] == "passed" and "replaced" not in ran[name]["notes"], ran[name]


def test_what_was_replaced_is_told(ran: dict[str, dict]) -> None:
    assert ran["a_replaces_a_layer"]["notes"]["replaced"] == "flax.nnx.Linear.__call__"
    assert ran["1_replaces_a_method"]["notes"]["replaced"] == "assay.layers.Layer.forward"
    assert ran["3_replaces_a_class"]["notes"]["replaced"] == "assay.layers.Layer"
    assert ran["5_takes_another_of_the_library"]["notes"]["replaced"] == "assay.layers.scaled"
    assert ran["7_leaves_a_stand_in"]["notes"]["replaced"] == "assay.layers.scaled, a table with tensors of a capture, which have no values", "a stand-in keeps what it was called with"
    assert ran["g_replaces_the_runtime"]["notes"]["replaced"] == "onnxruntime.InferenceSession.run"
    assert ran["g_replaces_the_runtime"]["outcome"] == "failed", "what the runtime says is no result of the model"


def test_what_was_left_running_is_told_of_the_test_that_left_it(ran: dict[str, dict]) -> None:
    assert "left_running" in ran["e_leaves_a_process"]["notes"] and "left_running" not in ran["f_good"]["notes"]


@pytest.mark.parametrize(("place", "name", "other"), [
    (torch.nn.Linear, "__call__", lambda self, x: x), (torch.nn.functional, "relu", torch.nn.functional.gelu), (torch, "relu", torch.tanh), (torch.nn.Linear, "forward", torch.nn.Bilinear.forward), (torch.nn.functional, "relu", None)])
def test_another_function_of_the_framework_is_a_replacement_too(monkeypatch: pytest.MonkeyPatch, place: object, name: str, other: object) -> None:
    known = patches.AsItWas()
    assert known.replaced() == []
    monkeypatch.setattr(place, name, other) if other else monkeypatch.delattr(place, name)
    assert [one.rpartition(".")[2] for one in known.replaced()] == [name]


def test_what_the_zoo_puts_into_others_is_found_in_every_guise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cupel.worker import libraries

    (tmp_path / "zoo_of_a_test.py").write_text("import functools\ndef made(*given): return 1\nclass Callable:\n    def __call__(self): return 1\n"
                                               "class Other: ...\nguises = [made, Callable(), Other, staticmethod(made), functools.partial(made, 1), property(made), lambda: 2]\ndata = [3, 'text', Other()]\n")
    monkeypatch.syspath_prepend(tmp_path)
    import zoo_of_a_test as zoo

    known = libraries.Known()
    found = lambda: sorted(f"{name}.{one}" for name, _, one in known.put_by_the_zoo(tmp_path))  # noqa: E731
    assert found() == []
    for value in zoo.guises:
        with monkeypatch.context() as replacing:
            replacing.setattr(json.JSONEncoder, "default", value)
            replacing.setattr(json, "dumps", value)
            assert found() == ["json.dumps", "json.encoder.JSONEncoder.default"], value
            assert found() == ["json.dumps", "json.encoder.JSONEncoder.default"], "it is still there"
        assert found() == []
    for value in zoo.data:  # What is no function is no function of the zoo.
        with monkeypatch.context() as replacing:
            replacing.setattr(json, "dumps", value)
            assert found() == [], value


def test_what_torch_does_to_itself_is_none() -> None:
    known = patches.AsItWas()
    torch._dynamo.reset()
    assert torch.compile(torch.nn.Linear(2, 2), backend="eager")(torch.ones(1, 2)).shape == (1, 2)
    assert known.replaced() == []


def test_nothing_is_remembered_of_replaced_functions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUPEL_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(golden_cache.VARIABLE, "1G")
    monkeypatch.setattr(golden_cache, "is_trusted", golden_cache.is_trusted)
    monkeypatch.setattr(patches, "_watched", None)
    known, value = patches.watched(), golden_cache.of_tensor(torch.ones(2))
    cache = golden_cache.GoldenCache()
    with monkeypatch.context() as replacing:
        replacing.setattr(torch.nn.functional, "relu", lambda x: x)
        assert known.replaced() == ["torch.nn.functional.relu"]
        cache.keep("ab" * 32, {}, [value])
    assert cache.find("ab" * 32) is None
    cache.keep("ab" * 32, {}, [value])
    assert cache.find("ab" * 32) is not None
    with monkeypatch.context() as replacing:
        replacing.setattr(torch.nn.functional, "relu", lambda x: x)
        assert cache.find("ab" * 32) is None
