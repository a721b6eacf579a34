"""JAX loaders from their files to a verdict: nnx and linen, inference and training, one chip and a mesh; golden results are JAX's own."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from test_run import ROOT, run

from cupel.worker.array_file import by_device, write_arrays

LINEN, NNX = "cnn/jax-small", "gpt/causal_lm/jax-tiny"
MESHES = ((LINEN, "data_parallel"), (NNX, "tensor_parallel"))


def test_arrays_are_kept_by_device_and_position(tmp_path: pathlib.Path) -> None:
    from safetensors.numpy import load_file

    whole = [np.arange(6, dtype=np.int8).reshape(2, 3)[:, ::2], np.float64(2.5), np.zeros((0, 4), np.float32)]
    write_arrays(tmp_path / "one", by_device([whole]))
    read = load_file(tmp_path / "one")
    assert sorted(read) == ["0", "1", "2"] and all(np.array_equal(read[str(i)], value) and read[str(i)].dtype == value.dtype for i, value in enumerate(whole))
    write_arrays(tmp_path / "two", by_device([[whole[0]], [whole[0] + 1]]))
    read = load_file(tmp_path / "two")
    assert np.array_equal(read["d0/0"] + 1, read["d1/0"]) and len(read) == 2
    with pytest.raises(TypeError, match="no such type"):
        write_arrays(tmp_path / "three", by_device([[np.array(["text"])]]))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["one", "two"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    pytest.importorskip("flax")
    chosen = [f"models::{model}-single_device-{mode}" for model in (LINEN, NNX) for mode in ("inference", "training")]
    chosen += [f"models::{model}-{how}-inference" for model, how in MESHES]
    code, printed, records = run(tmp_path_factory.mktemp("run"), "--zoo", ROOT / "zoo/models", "--config", ROOT / "zoo/models/test_config", "--arch", "n300", *chosen)
    assert code == 0 and len(records) == len(chosen), printed
    return records


@pytest.mark.parametrize("name", [LINEN, NNX])
def test_inference_passes_against_jax(ran: dict[str, dict], name: str) -> None:
    test = ran[f"{name}-single_device-inference"]
    assert test["outcome"] == "passed" and len(test["comparisons"]) == 1, test
    assert test["notes"]["expectation"] == "JAX on the CPU, float32" and test["notes"]["captured by"] == "jax.jit", test


@pytest.mark.parametrize(("name", "results"), [(LINEN, 14), (NNX, 29)])
def test_training_compares_the_whole_gradient_tree(ran: dict[str, dict], name: str, results: int) -> None:
    """A gradient of every float that goes in (parameters, running statistics, pictures), then the output: (backward, forward)."""
    test = ran[f"{name}-single_device-training"]
    assert test["outcome"] == "passed" and len(test["comparisons"]) == results, test
    assert all(one["sentence"].startswith("[gradient of ") for one in test["comparisons"][:-1]) and test["comparisons"][-1]["sentence"].startswith("[output]"), test["comparisons"]


@pytest.mark.parametrize(("name", "how"), MESHES)
def test_a_mesh_gives_every_chip_the_whole_result(ran: dict[str, dict], name: str, how: str) -> None:
    test = ran[f"{name}-{how}-inference"]
    assert test["outcome"] == "passed" and len(test["comparisons"]) == 2, test
    assert test["notes"]["expectation"] == "JAX on 2 CPU devices, float32", test


def test_specs_are_those_of_the_arguments() -> None:
    jax = pytest.importorskip("jax")
    from cupel.worker.jax_calls import _specs_of_arguments
    from cupel.worker.loaders import LoaderError

    whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("X")
    values = [{"a": np.zeros(4), "b": [np.zeros((4, 2)), np.float32(1)]}, np.zeros(4)]
    assert _specs_of_arguments(values, (split, whole)) == [{"a": split, "b": [split, whole]}, whole]
    assert _specs_of_arguments(values, (split,)) == [{"a": split, "b": [split, whole]}, split]
    for wrong in ((), (split, split, whole)):
        with pytest.raises(LoaderError, match=f"gives {len(wrong)} specs for 2 arguments"):
            _specs_of_arguments(values, wrong)


def _placed(model: str, chips: int) -> object:
    """The call of a bundled JAX model on a mesh that needs no devices."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("flax")
    from cupel.worker import jax_calls
    from cupel.worker.loaders import import_class

    loader, mesh = import_class(ROOT / "zoo/models", ROOT / "zoo/models" / model / "loader.py")(), jax.sharding.AbstractMesh((chips,), ("X",))
    built = jax_calls.load_on_mesh(loader, chips, False)
    return jax_calls.on_mesh(loader, built, loader.load_inputs(mesh=mesh), "inference", "data_parallel", mesh)


@pytest.mark.parametrize("model", ["cnn/jax", "gpt/causal_lm/jax"])
@pytest.mark.parametrize("chips", [2, 4, 8, 32])
def test_bundled_models_are_for_every_architecture(model: str, chips: int) -> None:
    assert _placed(model, chips).mesh.size == chips


def test_a_loader_without_specs_loads_no_model_for_several_devices(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("flax")
    for name in ("__init__.py", "base.py", "config.py", "jax_base.py"):
        (tmp_path / name).write_text((ROOT / "zoo/models" / name).read_text())
    loader = tmp_path / "one/jax/loader.py"
    loader.parent.mkdir(parents=True)
    loader.write_text("from ...jax_base import JaxForgeModel\nfrom ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask\n"
                      "class ModelLoader(JaxForgeModel):\n    @classmethod\n    def _get_model_info(cls, variant=None):\n"
                      "        return ModelInfo('One', variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.JAX)\n"
                      "    def build(self): raise RuntimeError('the model is loaded')\n    def make_arrays(self, batch_size, random): ...\n")
    _, printed, records = run(tmp_path, "--zoo", tmp_path, "--arch", "n300", "models::one/jax-data_parallel-inference")
    assert "no get_input_activations_partition_spec and no load_parameters_partition_spec" in records["one/jax-data_parallel-inference"]["message"], printed


def _program(function: Any, run_mode: str, *arguments: Any) -> Any:
    from cupel.worker import jax_calls, jax_program

    call = jax_calls.Call(function, arguments, {}, "function")
    return jax_program.training(call, lambda args, kwargs: function(*args, **kwargs)) if run_mode == "training" else jax_program.inference(call)


@pytest.mark.parametrize("run_mode", ["inference", "training"])
def test_what_is_no_array_of_a_result_is_left_out(run_mode: str) -> None:
    """jax.jit refuses it, and the model would be said to fail."""
    jax = pytest.importorskip("jax")
    program = _program(lambda x: {"y": x * 2, "name": "twice", "rows": x.shape[0], "made": object()}, run_mode, jax.numpy.ones((2, 3)))
    results = jax.jit(program.function)(*program.inputs)
    assert [one.shape for one in results[-2:]] == [(), (2, 3)] and len(results) == len(program.result_names) == (3 if run_mode == "training" else 2)


@pytest.mark.parametrize("run_mode", ["inference", "training"])
def test_arrays_of_numpy_have_the_types_of_the_program(run_mode: str) -> None:
    """Tokenizers give 64-bit integers; the program took others than the workload had."""
    jax = pytest.importorskip("jax")
    program = _program(lambda x, ids, mask, scale: (x * scale)[ids] * mask, run_mode, np.ones((4, 3)), np.array([1, 2], np.int64), np.array([[True], [False]]), np.float64(2))
    traced = jax.jit(program.function, keep_unused=True).trace(*program.inputs).jaxpr.in_avals
    assert [one.dtype for one in traced] == [np.asarray(one).dtype for one in program.inputs]


def test_complex_results_are_trained() -> None:
    """The gradient of one was drawn as a float, and the model was said to fail."""
    jax = pytest.importorskip("jax")
    program = _program(lambda x: jax.numpy.fft.rfft(x), "training", jax.numpy.arange(8.0).reshape(2, 4))
    gradient, output = jax.jit(program.function)(*program.inputs)
    drawn = np.asarray(program.inputs[-1])
    assert (drawn.dtype, gradient.dtype, output.dtype) == (np.complex64, np.float32, np.complex64) and gradient.shape == (2, 4)
    assert drawn.real.min() >= 0 and drawn.imag.min() >= 0 and not np.allclose(drawn.real, drawn.imag)


def test_a_model_of_integers_alone_has_no_output_to_train() -> None:
    from cupel.worker.loaders import LoaderError

    jax = pytest.importorskip("jax")
    with pytest.raises(LoaderError, match="no result of the model is a float") as raised:
        _program(lambda x: jax.numpy.argmax(x), "training", jax.numpy.ones(3))
    assert raised.value.kind == "no_output"


def test_specs_for_fewer_devices_are_told_of_the_loader() -> None:
    """JAX says of them that the model fails."""
    from cupel.worker.loaders import LoaderError

    with pytest.raises(LoaderError, match=r"not for 64 devices: params.Dense_0.bias: dimension 0 of 32 does not come in 64 equal pieces") as raised:
        _placed("cnn/jax", 64)
    assert raised.value.kind == "bad_shard_spec"


@pytest.mark.parametrize(("spec", "why"), [((None, "X"), "has 2 dimensions, the array 1"), (("Y",), "names the axis Y, and the mesh has X"), ((("X",),), "dimension 0 of 6"), ((), ""), ((None,), "")])
def test_a_spec_that_cannot_be_is_named(spec: tuple, why: str) -> None:
    jax = pytest.importorskip("jax")
    from cupel.worker.jax_calls import _divided

    found = _divided(np.zeros(6), jax.sharding.PartitionSpec(*spec), jax.sharding.AbstractMesh((4,), ("X",)))
    assert why in found and bool(found) == bool(why)


def test_one_chip_runs_no_mesh(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("flax")
    _, printed, records = run(tmp_path, "--zoo", ROOT / "zoo/models", "--arch", "n150", f"models::{NNX}-tensor_parallel-inference")
    (test,) = records.values()
    assert test["outcome"] == "not run" and test["reasons"][0]["name"] == "NEEDS" and "has 1" in test["message"], printed


def test_what_is_no_flax_module_is_told(tmp_path: pathlib.Path) -> None:
    from cupel.worker.jax_calls import kind_of
    from cupel.worker.loaders import LoaderError

    with pytest.raises(LoaderError, match="builtins.dict, which is no module of flax") as raised:
        kind_of({})
    assert raised.value.kind == "not_a_module"
