"""Bundled models through every depth: one that runs, one of several graphs, and one that no frontend lowers as a whole."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

from cupel._files import command_path
from cupel.worker import model

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CNN, TWO, UNKNOWN = ("cnn/pytorch-small-single_device-inference", "two_graphs/pytorch-single_device-inference", "faults/unsupported_op/pytorch-single_device-inference")


def run(folder: pathlib.Path, depth: str, *what: str | pathlib.Path, backend: str = "stablehlo") -> tuple[int, str, dict[str, dict]]:
    chips = "&arch=n300" if "--arch" in what else ""
    done = subprocess.run([command_path("cupel"), "run", *what, "--device", "cupel?backend=cpu" + chips, "--python", sys.executable,
                           "-j1", "--depth", depth, "--op-by-op-backend", backend, "--op-by-op-dir", folder / "tables", "--results", folder / "results", "--json", folder / "run.json"],
                          capture_output=True, text=True, check=False, timeout=400)
    return done.returncode, done.stdout + done.stderr, {test["id"]: test for test in json.loads((folder / "run.json").read_text())["tests"]}


def of_zoo(*names: str) -> list[str | pathlib.Path]:
    return ["--zoo", ROOT / "zoo/models", *(f"models::{name}" for name in names)]


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The model as a folder, for depths that begin behind the frontend: no process has to import torch for them."""
    folder = tmp_path_factory.mktemp("cnn") / "workload"
    answer = model.run({"loader": str(ROOT / "zoo/models/cnn/pytorch/loader.py"), "folder": str(folder), "variant": "small"}, lambda stage: None)
    assert "capture" in answer, answer
    return folder


@pytest.mark.parametrize("depth", ["stablehlo", "device-ir", "compile-op-by-op"])
def test_depths_that_judge_nothing(tmp_path: pathlib.Path, workload: pathlib.Path, depth: str) -> None:
    code, printed, records = run(tmp_path, depth, *(of_zoo(CNN) if depth == "stablehlo" else [workload]))
    (record,) = records.values()
    assert code == 0 and record["outcome"] == "unjudged" and record["notes"]["depth"] == depth, printed
    if depth == "compile-op-by-op":
        (file,) = (tmp_path / "tables").rglob("*_unique_ops.json")
        table = json.loads(file.read_text())
        assert len(table) > 20 and {op["compilation_status"] for op in table.values()} == {6}, table


@pytest.mark.parametrize("backend", ["stablehlo", "torch"])
def test_models_on_several_chips_are_taken_apart(tmp_path: pathlib.Path, backend: str) -> None:
    """Devices hold pieces of what their operations take, and these lie as in the whole."""
    folder = tmp_path / "workload"
    answer = model.run({"loader": str(ROOT / "zoo/models/cnn/pytorch/loader.py"), "folder": str(folder), "variant": "small", "parallelism": "data_parallel", "chips": 2}, lambda stage: None)
    assert "capture" in answer, answer
    _, printed, records = run(tmp_path, "execute-op-by-op", folder, "--arch", "n300", backend=backend)
    (record,) = records.values()
    (file,) = (tmp_path / "tables").rglob("*_unique_ops.json")
    table = json.loads(file.read_text())
    assert record["outcome"] == "passed" and len(table) >= 8 and {op["compilation_status"] for op in table.values()} == {7}, (printed, record)


def test_call_by_call(tmp_path: pathlib.Path) -> None:
    code, printed, records = run(tmp_path, "execute-op-by-op", *of_zoo(CNN, TWO, UNKNOWN), backend="torch")
    assert code == 1 and [records[name]["outcome"] for name in (CNN, TWO, UNKNOWN)] == ["passed", "passed", "failed"], printed
    merged = json.loads((tmp_path / "tables/ops.json").read_text())
    models = {one["model"]: one for one in merged["models"]}
    assert models[CNN]["statuses"][7] == models[CNN]["unique_ops"] >= 8 and models[TWO]["unique_ops"] >= 3, models
    names = {op["framework_op_name"] for op in merged["ops"]}
    assert {"aten.convolution.default", "aten.add.Tensor"} & names and all(name.count(".") >= 2 for name in names), names
    assert [one["models"] for one in merged["stops"]] == [[UNKNOWN]] and merged["stops"][0]["key"].startswith("cupel_zoo.mystery.default"), merged["stops"]
    assert merged["models"] and "stopped_by" in models[UNKNOWN] and models[UNKNOWN]["statuses"][2] == 1, models[UNKNOWN]
    assert "unique of" in records[UNKNOWN]["notes"]["operations"], records[UNKNOWN]


def test_what_no_frontend_lowers_says_how_far_it_came(tmp_path: pathlib.Path) -> None:
    """A call that is lowered but not in this form (3), an operator of ONNX that is not (1), what is behind it (0), and what is before (4)."""
    import onnx
    import torch

    class Places(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nonzero(torch.tanh(x))

    torch.export.save(torch.export.export(Places(), (torch.randn(2, 3),)), tmp_path / "places.pt2")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xw"]
    nodes = [onnx.helper.make_node(name, [x], [y]) for name, x, y in (("Abs", "x", "y"), ("Mystery", "y", "z"), ("Neg", "z", "w"))]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[onnx.helper.make_opsetid("", 18)]), tmp_path / "mystery.onnx")
    done = subprocess.run([command_path("cupel"), "run", tmp_path / "places.pt2", tmp_path / "mystery.onnx", "--device", "cupel", "--depth", "execute-op-by-op", "--op-by-op-backend", "torch",
                           "--op-by-op-dir", tmp_path / "tables", "--results", tmp_path / "results"], capture_output=True, text=True, check=False, timeout=400)
    found = {key.split("_")[0]: (op["compilation_status"], op["status"]) for file in (tmp_path / "tables").rglob("*_unique_ops.json") for key, op in json.loads(file.read_text()).items()}
    assert found == {"aten.tanh.default": (4, "CONVERTED_TO_STABLE_HLO"), "aten.nonzero.default": (3, "CONVERTED_TO_TORCH_BACKEND_IR"), "Abs": (4, "CONVERTED_TO_STABLE_HLO"),
                     "Mystery": (1, "CREATED_GRAPH"), "Neg": (0, "NOT_STARTED")}, (found, done.stdout)


def test_the_suite_of_upstream_goes_operation_by_operation(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([command_path("cupel"), "run", "--zoo", ROOT / "zoo/models", "--suite", "op_by_op", f"op_by_op::{CNN}", "--device", "cupel?backend=cpu", "--python", sys.executable,
                           "--op-by-op-dir", tmp_path / "tables", "--results", tmp_path / "results"], capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    table = json.loads((tmp_path / "tables/cnn/pytorch_small_single_device_inference_unique_ops.json").read_text())
    # Each on a kernel of the device's own: what the reference's computes is judged by nobody.
    assert len(table) > 20 and all(op["compilation_status"] == 7 and op.get("passed") is True for op in table.values()), table
