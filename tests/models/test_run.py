"""`cupel run` on loaders: Python makes the workloads, the worker runs and judges them, and every test ends in its outcome."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy
import pytest

from cupel._files import command_path, plugin_path
from cupel.worker.array_file import write_arrays
from cupel.worker.workload_folder import Contents, save

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CNN, SPLIT, LSTM = "cnn/pytorch-small-single_device-inference", "cnn/pytorch-small-data_parallel-inference", "lstm/token_classification/pytorch-single_device-training"
DROPS = "siamese/pytorch-single_device-training"
LLAMA, TWO = "llama/causal_lm/pytorch-decode-single_device-inference", "two_graphs/pytorch-single_device-inference"
DTYPE, CRASH, WRONG, UNKNOWN = (f"faults/{name}/pytorch-single_device-inference" for name in ("dtype_bug", "crash", "wrong_golden", "unsupported_op"))


def run(folder: pathlib.Path, *arguments: str | pathlib.Path) -> tuple[int, str, dict[str, dict]]:
    """The exit code, what was printed, and the records by id. One worker: each further one imports torch again, and the other core is busy with other tests."""
    report = folder / "run.json"
    done = subprocess.run([command_path("cupel"), "run", *map(str, arguments), "--device", "cupel", "--python", sys.executable, "--results", folder / "results",
                           "--json", report, "-j1"], capture_output=True, text=True, check=False, timeout=400)
    assert report.exists(), done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr, {test["id"]: test for test in json.loads(report.read_text())["tests"]}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    chosen = [f"models::{name}" for name in (CNN, SPLIT, LSTM, LLAMA, TWO, DTYPE, CRASH, WRONG, UNKNOWN)]
    code, printed, records = run(tmp_path_factory.mktemp("run"), "--zoo", ROOT / "zoo/models", *chosen)
    assert code == 1, printed
    assert sorted(f"models::{name}" for name in records) == sorted(chosen), printed
    return records


@pytest.mark.parametrize("name", [CNN, LSTM, LLAMA, TWO])
def test_models_pass_against_torch(ran: dict[str, dict], name: str) -> None:
    test = ran[name]
    assert test["outcome"] == "passed" and test["bringup_status"] == "PASSED", test
    assert test["comparisons"] and all(one["passed"] for one in test["comparisons"]), test
    assert test["notes"]["expectation"] == "torch on the CPU, bfloat16", test
    assert {"load", "reference", "frontend", "compile", "execute", "compare"} <= {one["stage"] for one in test["stages"]}, test


def test_every_graph_of_a_broken_model_is_judged(ran: dict[str, dict]) -> None:
    assert ran[TWO]["notes"]["captured by"] == "compile" and int(ran[TWO]["notes"]["graphs"]) >= 2, ran[TWO]
    assert len(ran[TWO]["comparisons"]) >= 2, ran[TWO]


def test_what_is_not_there_is_not_run(ran: dict[str, dict]) -> None:
    assert ran[SPLIT]["outcome"] == "not run" and ran[SPLIT]["reasons"][0]["name"] == "NEEDS", ran[SPLIT]


def test_failures_end_where_they_happen(ran: dict[str, dict]) -> None:
    for name, outcome, stage, reason in ((DTYPE, "failed", "reference", "GOLDEN_ERROR"), (UNKNOWN, "failed", "frontend", "NOT_LOWERED"),
                                         (CRASH, "crashed", "reference", "ABORTED"), (WRONG, "failed", "compare", None)):
        test = ran[name]
        assert (test["outcome"], test["last_stage"]) == (outcome, stage), test
        assert reason is None or test["reasons"][0]["name"] == reason, test
    assert ran[CRASH]["message"] == "the Python worker crashed in stage reference: signal 6, SIGABRT (Aborted)", ran[CRASH]
    assert ran[WRONG]["bringup_status"] == "INCORRECT_RESULT", ran[WRONG]


def test_a_failure_is_kept_and_fails_again_without_python(ran: dict[str, dict], tmp_path: pathlib.Path) -> None:
    code, printed, again = run(tmp_path, ran[WRONG]["reproduction"])
    assert code == 1 and len(again) == 1, printed
    (test,) = again.values()
    assert test["outcome"] == "failed" and test["message"] == ran[WRONG]["message"], (test, ran[WRONG])


def test_a_model_is_saved_and_runs_without_python(tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "saved"
    words = [command_path("cupel"), "compile", "--zoo", ROOT / "zoo/models", "--python", sys.executable, "-o", saved]
    done = subprocess.run([*words, f"models::{CNN}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["capture"]["graphs"] == 1, done.stdout + done.stderr
    assert json.loads((saved / "workload.json").read_text())["test"] == f"models::{CNN}"
    done = subprocess.run([command_path("cupel"), "run", saved, "--device", "cupel", "--python", "/bin/false", "--results", tmp_path / "results", "--json", tmp_path / "run.json"],
                          capture_output=True, text=True, check=False)
    (test,) = json.loads((tmp_path / "run.json").read_text())["tests"]
    assert done.returncode == 0 and test["outcome"] == "passed" and test["comparisons"][0]["rule"] == "strict", done.stdout + done.stderr
    for where, name, says in ((tmp_path / "other", CNN.replace("small", "enormous"), "there is no test"), (saved, CNN, "is there already"), ("-", CNN, "-o DIR says where")):
        done = subprocess.run([*words[:-1], where, f"models::{name}"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and says in done.stderr, done.stderr


@pytest.mark.parametrize(("name", "graphs"), [("cnn/pytorch-small-single_device-training", 1), ("two_graphs/pytorch-single_device-inference", 2), ("cnn/jax-small-single_device-training", 1)])
def test_a_saved_model_is_judged_where_there_is_nothing_but_a_plugin(tmp_path: pathlib.Path, name: str, graphs: int) -> None:
    """By noise that goes with it: gradients in bfloat16 are off by more than the precision of a device says."""
    saved = tmp_path / "saved"
    done = subprocess.run([command_path("cupel"), "compile", "--zoo", ROOT / "zoo/models", "--python", sys.executable, "-o", saved, f"models::{name}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "without_noise" not in done.stdout, done.stdout + done.stderr
    assert len(list(saved.rglob("noise-1.safetensors"))) == graphs
    done = subprocess.run([command_path("cupel-device"), "run", plugin_path(), saved, "--json", tmp_path / "device.json", "--out", tmp_path / "out"], capture_output=True, text=True, check=False, env={})
    runs = json.loads((tmp_path / "device.json").read_text())["runs"]
    assert done.returncode == 0 and [one["outcome"] for one in runs] == ["passed"] * graphs, done.stdout + done.stderr
    assert len(list((tmp_path / "out/saved").rglob("report.json"))) == graphs


def test_what_rounding_decides_is_told_where_there_are_no_pieces(tmp_path: pathlib.Path) -> None:
    """cupel-device has no reference that could feed pieces: that a pass tells little is a warning."""
    x = numpy.linspace(1, 2, 8, dtype=numpy.float32)
    program = b"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  %y = stablehlo.add %x, %x : tensor<8xf32>\n  return %y : tensor<8xf32>\n}\n"
    for name, noise, warned in (("decided", 0.5, True), ("told", 0.001, False)):
        folder = tmp_path / name
        save(folder, name, Contents(program, [[x]], [[x * 2 * (1 + noise / 2)]]), {}, {}, {})
        for i, sign in ((1, 1), (2, -1)):
            write_arrays(folder / f"noise-{i}.safetensors", {"0": x * 2 * (1 + noise / 2) * (1 + sign * noise)})
        done = subprocess.run([command_path("cupel-device"), "run", plugin_path(), folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and ("warning: rounding decides result 0, and a wrong result may be within such limits" in done.stdout) == warned, done.stdout + done.stderr


def test_options_of_the_run_and_of_the_configuration_reach_loader_and_device(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "config/torch"
    config.mkdir(parents=True)
    entry = "    status: EXPECTED_PASSING\n"
    (config / "test_config_inference_single_device.yaml").write_text(
        f"test_config:\n  {CNN}:\n{entry}    optimization_level: 0\n  {DTYPE}:\n{entry}    batch_size: 3\n")
    chosen = [f"models::{name}" for name in (CNN, DTYPE, DROPS)]
    _, printed, records = run(tmp_path, "--zoo", ROOT / "zoo/models", "--config", tmp_path / "config", *chosen, "--dtype", "float32", "--no-dropout")
    assert records[DTYPE]["outcome"] == "passed" and records[DTYPE]["notes"]["dtype"] == "float32", printed
    assert records[CNN]["outcome"] == "passed" and records[CNN]["notes"]["compile options"] == "optimization_level=0", records[CNN]
    trained = records[DROPS]
    assert trained["outcome"] == "passed" and trained["notes"]["dropout"] == "1 rates set to 0", trained
    assert trained["comparisons"][0]["sentence"].startswith("[") and trained["comparisons"][-1]["sentence"].startswith("[output] "), trained


def test_options_of_the_configuration_reach_devices_from_every_framework(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("flax")
    pytest.importorskip("onnx")
    config = tmp_path / "config/torch"
    config.mkdir(parents=True)
    names = [f"cnn/{framework}-small-single_device-inference" for framework in ("jax", "onnx")]
    entry = "    status: EXPECTED_PASSING\n    optimization_level: 0\n    enable_weight_bfp8_conversion: true\n    inject_custom_moe: true\n"
    (config / "test_config_inference_single_device.yaml").write_text("test_config:\n" + "".join(f"  {name}:\n{entry}" for name in names))
    _, printed, records = run(tmp_path, "--zoo", ROOT / "zoo/models", "--frameworks", "jax,onnx", "--config", tmp_path / "config", f"models::{names[0]}", f"onnx::{names[1]}")
    for name in names:
        notes = records[name]["notes"]
        assert notes["compile options"] == "optimization_level=0, experimental_weight_dtype=bfp_bf8", (notes, printed)
        assert notes["not heeded"].startswith("inject_custom_moe: "), notes


def test_a_dtype_that_does_not_exist_is_refused(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([command_path("cupel"), "run", ROOT / "zoo/models", "--dtype", "float12", "--results", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there are bfloat16, float16, float32, float64 and none" in done.stderr, done.stderr
