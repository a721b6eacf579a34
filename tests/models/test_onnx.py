"""ONNX loaders from their files to a verdict: the exported model through our frontend, judged against ONNX Runtime."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from test_run import ROOT, run

from cupel.worker.loaders import LoaderError
from cupel.worker.model import Request, make_test
from cupel.worker.onnx_model import match_inputs

SMALL = "cnn/onnx-small-single_device-inference"
LOADER = """
import onnx
from onnx import TensorProto, helper
import numpy as np
from {package}.base import ForgeModel
from {package}.config import *
class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None): return ModelInfo("Made", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.ONNX)
    def build(self): pass
    def make_inputs(self, batch_size, generator): pass
    def load_model(self, onnx_tmp_path): return {model}
    def load_inputs(self): return {inputs}
"""
ADD = ("helper.make_model(helper.make_graph([helper.make_node('{op}', ['x', 'y'], ['z'], domain='{domain}')], 'g', [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in 'xy'],"
       " [helper.make_tensor_value_info('z', TensorProto.FLOAT, [2])]), opset_imports=[helper.make_opsetid('', 20), helper.make_opsetid('elsewhere', 1)], ir_version=9)")
TWO = "[np.ones(2, np.float32), np.ones(2, np.float32)]"


def make(zoo: pathlib.Path, model: str, inputs: str) -> dict:
    """What the Python side says of a loader that is made here."""
    folder = zoo / "made/onnx"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_bytes((ROOT / "zoo/models" / name).read_bytes())
    (folder / "loader.py").write_text(LOADER.format(package="tt_forge_models", model=model, inputs=inputs))
    return make_test(Request(loader=str(folder / "loader.py"), folder=str(zoo / "out")), lambda stage: None).run()


def test_a_loader_passes_against_onnx_runtime(tmp_path: pathlib.Path) -> None:
    code, printed, records = run(tmp_path, "--zoo", ROOT / "zoo/models", "--frameworks", "onnx", f"onnx::{SMALL}")
    assert code == 0, printed
    test = records[SMALL]
    assert test["outcome"] == "passed" and test["bringup_status"] == "PASSED" and len(test["comparisons"]) == 1, test
    assert test["notes"]["expectation"].startswith("ONNX Runtime ") and test["comparisons"][0]["rule"] == "strict", test
    assert {"load", "reference", "frontend", "compile", "execute", "compare"} <= {one["stage"] for one in test["stages"]}, test


def test_results_are_expected_where_there_is_a_runtime(tmp_path: pathlib.Path) -> None:
    answer = make(tmp_path, ADD.format(op="Add", domain=""), TWO)
    assert answer["capture"]["expectation"].startswith("ONNX Runtime "), answer
    data = onnx.TensorProto.FromString((tmp_path / "out/test_data_set_0/output_0.pb").read_bytes())
    assert onnx.numpy_helper.to_array(data).tolist() == [2, 2]


@pytest.mark.parametrize(("model", "inputs", "kind", "says"), [
    ("None", TWO, "not_a_module", "load_model gives a builtins.NoneType, which is no onnx.ModelProto"),
    (ADD.format(op="Add", domain=""), "[np.ones(2, np.float32), np.ones(3, np.float32)]", "bad_inputs", "gives nothing for the model's input %y"),
    (ADD.format(op="Unheard", domain="elsewhere"), TWO, "golden_error", "the model fails in ONNX Runtime on the CPU"),
])
def test_failures_say_what_is_wrong(tmp_path: pathlib.Path, model: str, inputs: str, kind: str, says: str) -> None:
    answer = make(tmp_path, model, inputs)
    assert answer["outcome"] == "failed" and answer["error_class"] == kind and says in answer["message"], answer
    assert not (tmp_path / "out").exists()


def test_inputs_go_by_name_and_else_in_their_order() -> None:
    infos = [helper.make_tensor_value_info("a", TensorProto.INT64, [1, 4]), helper.make_tensor_value_info("b", TensorProto.FLOAT, ["n"])]
    model = helper.make_model(helper.make_graph([], "g", infos, []))
    ids, scale = np.arange(4, dtype=np.int32).reshape(1, 4), np.full(3, 0.5)
    for given in ({"b": scale, "a": ids}, [scale, ids], [{"other": ids}, scale, "text"]):
        found = match_inputs(model, given)
        assert list(found) == ["a", "b"] and found["a"].dtype == np.int64 and found["b"].dtype == np.float32, found
        assert np.array_equal(found["a"], ids) and np.array_equal(found["b"], scale)
    with pytest.raises(LoaderError, match="nothing for the model's input"):
        match_inputs(model, [scale])


def test_onnx_models_do_not_train(tmp_path: pathlib.Path) -> None:
    loader = ROOT / "zoo/models/cnn/onnx/loader.py"
    answer = make_test(Request(loader=str(loader), folder=str(tmp_path / "out"), run_mode="training"), lambda stage: None).run()
    assert answer["outcome"] == "not run" and "ONNX models run inference on one device" in answer["message"], answer


def test_the_golden_result_takes_no_memory_for_further_runs(tmp_path: pathlib.Path) -> None:
    """Tensors that grow from call to call: at most three are alive, the last two of 56 MiB. An arena that doubles held 200 MiB for 112."""
    growing = [node for i in range(1, 7) for node in (helper.make_node("Concat", [f"a{i - 1}", "b"], [f"c{i}"], axis=0), helper.make_node("Sin", [f"c{i}"], [f"a{i}"]))]
    nodes = [*(helper.make_node("ConstantOfShape", ["shape"], [name]) for name in ("a0", "b")), *growing, helper.make_node("ReduceSum", ["a6"], ["y"], keepdims=0)]
    graph = helper.make_graph(nodes, "growing", [helper.make_tensor_value_info("shape", TensorProto.INT64, [1])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "model.onnx")
    script = ("import sys, pathlib, numpy, onnxruntime; sys.path.insert(0, sys.argv[2]); from cupel.worker import onnx_model, process_memory\n"
              "process_memory.forget_peak(); before = process_memory.held()\n"
              "onnx_model._computed(onnxruntime, pathlib.Path(sys.argv[1]), {'shape': numpy.array([1 << 21])}); print(process_memory.peak() - before)")
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "model.onnx", ROOT / "python"], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 160 << 20, done.stdout
