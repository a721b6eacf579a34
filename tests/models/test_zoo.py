"""The bundled zoo: each loader from its file to a verdict of our device, and each broken one to its own reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from devices import verdicts

from cupel._files import command_path
from cupel.worker import model

ROOT = Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "zoo/models"
# What becomes of each broken loader: outcome, error class, step, and a part of the message.
FAULTS = {
    "dtype_bug": ("failed", "golden_error", "golden", "to have the same dtype, but got: c10::BFloat16 != float"),
    "unsupported_op": ("failed", "not_lowered", "lower", "mystery"),
    "out_of_memory": ("out of memory", "out_of_memory", "model", "no memory was left"),
    "leaves": ("failed", "loader_model", "model", "SystemExit: 0"),
    "not_a_module": ("failed", "not_a_module", "model", "builtin_function_or_method"),
    "garbage_inputs": ("failed", "bad_inputs", "inputs", "neither a tensor, a mapping nor a sequence"),
}
# That of the LSTM, a minute of unrolled steps under load, is judged in test_run. None with parameters whose gradient is zero but for rounding (biases of keys in attention): correlation says nothing of those.
TRAINED = {"cnn": "export", "resnet": "export", "llama/causal_lm": "export", "two_graphs": "compile", "records": "trace", "siamese": "export"}


def listed() -> list[tuple[str, str]]:
    """Model path and variant of every loader that `cupel list` finds for inference on one device."""
    out = subprocess.run([command_path(), "list", str(ZOO), "-k", "single_device and inference", "--suite", "models", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return [(test["model_path"], test.get("variant", "")) for test in json.loads(out)["tests"]]


# Of torch alone, and without packages of their own: others have tests of theirs.
MODELS = [(path, variant) for path, variant in listed() if path.endswith("pytorch") and not path.startswith(("faults/", "siamese/")) and not (ZOO / path / "requirements.txt").exists()]


def run(path: str, folder: Path, **more: object) -> dict:
    stages: list[str] = []
    # cupel-device, which judges here, has no reference to measure noise with: a bound is named.
    answer = model.run({"loader": str(ZOO / path / "loader.py"), "folder": str(folder), "tolerance": {"pcc": 0.99}, **more}, stages.append)
    assert stages == list(dict.fromkeys(stages)), "a stage was announced twice"
    return answer


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """All models, captured once; their workloads, run by one process."""
    base = tmp_path_factory.mktemp("workloads")
    made = {(path, variant): run(path, base / f"{path.replace('/', '_')}-{variant}", variant=variant) for path, variant in MODELS}
    found = verdicts([one["folder"] for answer in made.values() for one in answer.get("capture", {}).get("workloads", [])])
    for answer in made.values():
        for one in answer.get("capture", {}).get("workloads", []):
            one["verdict"], one["report"] = found[one["folder"]]
    return made


def test_the_zoo_is_found_with_its_ids() -> None:
    assert len(MODELS) >= 22
    out = subprocess.run([command_path(), "list", str(ZOO), "--suite", "models", "--format", "ids"], capture_output=True, text=True, check=True).stdout
    for name in ("llama/causal_lm/pytorch-decode-single_device-inference", "cnn/pytorch-wide-tensor_parallel-training", "faults/hang/pytorch-data_parallel-inference"):
        assert f"models::{name}\n" in out


def test_the_configuration_speaks_of_every_test() -> None:
    done = subprocess.run([command_path(), "config", "check", str(ZOO / "test_config"), "--zoo", str(ZOO)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("path", "variant"), MODELS)
def test_a_model_reaches_a_pass(answers: dict, path: str, variant: str) -> None:
    answer = answers[path, variant]
    assert answer["outcome"] == "not run" and "capture" in answer, answer["message"]
    assert answer["model"]["finite"]
    for one in answer["capture"]["workloads"]:
        assert one["verdict"] == "passed", one["report"]
    # Of the processor: other work on the machine does not count.
    assert sum(seconds for name, seconds in answer["processor_seconds"].items() if name in ("model", "inputs", "golden")) < 5


def test_graphs_are_counted(answers: dict) -> None:
    broken = answers["two_graphs/pytorch", ""]["capture"]
    assert (broken["method"], broken["graphs"], len(broken["workloads"])) == ("compile", 2, 2)
    assert broken["export_refusal"] and broken["graph_breaks"]
    others = {path: answer["capture"]["method"] for (path, _), answer in answers.items() if path != "two_graphs/pytorch"}
    assert {path for path, method in others.items() if method != "export"} == {"records/pytorch"}
    traced = answers["records/pytorch", ""]["capture"]
    assert (traced["method"], traced["graphs"]) == ("trace", 1) and "torch.compile" in traced["export_refusal"]


def test_a_call_that_torch_gets_wrong_is_made_otherwise_and_told(answers: dict) -> None:
    assert answers["deformable/pytorch", ""]["model"]["golden_calls"] == {"grid_sampler_2d on a dense copy": 1}
    assert all("golden_calls" not in answer["model"] for (path, _), answer in answers.items() if path != "deformable/pytorch")


def test_a_workload_says_where_it_came_from(answers: dict) -> None:
    row = answers["llama/causal_lm/pytorch", "decode"]["capture"]["workloads"][0]
    origin = json.loads((Path(row["folder"]) / "workload.json").read_text())
    assert {key: origin[key] for key in ("frontend", "variant", "parallelism", "run_mode", "seed")} == {
        "frontend": "torch", "variant": "decode", "parallelism": "single_device", "run_mode": "inference", "seed": 0}
    assert origin["input_names"][:2] == ["input_ids", "past_key_values.layers.0.keys"]
    assert row["result_names"] == ["logits", *(f"past_key_values.layers.{i}.{part}" for i in range(2) for part in ("keys", "values"))]


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_loader_says_in_which_way(name: str, tmp_path: Path) -> None:
    answer = run(f"faults/{name}/pytorch", tmp_path / "w")
    outcome, error_class, step, message = FAULTS[name]
    assert (answer["outcome"], answer["error_class"], answer["step"]) == (outcome, error_class, step), answer
    assert message in answer["message"]
    assert not (tmp_path / "w").exists()


def test_a_dtype_bug_is_one_of_the_dtype(tmp_path: Path) -> None:
    answer = run("faults/dtype_bug/pytorch", tmp_path / "w", dtype="float32")
    assert verdicts([answer["capture"]["workloads"][0]["folder"]])[str(tmp_path / "w")][0] == "passed"


def test_a_wrong_golden_is_no_pass(tmp_path: Path) -> None:
    answer = run("faults/wrong_golden/pytorch", tmp_path / "w")
    assert verdicts([answer["capture"]["workloads"][0]["folder"]])[str(tmp_path / "w")][0] == "incorrect"


def alone(name: str, folder: Path) -> subprocess.Popen[str]:
    """A broken loader in a process of its own, which says its stages."""
    command = [sys.executable, "-m", "cupel.worker.model", str(ZOO / f"faults/{name}/pytorch/loader.py"), "--out", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"})


def test_a_crash_stays_in_its_process(tmp_path: Path) -> None:
    with alone("crash", tmp_path / "w") as process:
        process.communicate(timeout=300)
    assert process.returncode == -6 and not (tmp_path / "w").exists()


def test_a_hang_hangs_where_it_is_said_to(tmp_path: Path) -> None:
    with alone("hang", tmp_path / "w") as process:
        try:
            assert process.stderr is not None and any(line == "stage load\n" for line in process.stderr), "it ended before it could hang"
            with pytest.raises(subprocess.TimeoutExpired):
                process.communicate(timeout=5)
        finally:
            process.kill()
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(("path", "method"), TRAINED.items())
def test_training_gives_every_gradient(path: str, method: str, tmp_path: Path) -> None:
    answer = run(f"{path}/pytorch", tmp_path / "w", run_mode="training", dtype="float32")
    assert "capture" in answer, answer["message"]
    capture = answer["capture"]
    assert capture["method"] == method
    rows = capture["workloads"]
    assert sum(row["results"] for row in rows) >= 1 + answer["model"]["gradients"] > 4
    if method != "compile":
        assert rows[0]["results"] == 1 + answer["model"]["gradients"] and rows[0]["result_names"][-1] == "output", "backward first"
    for folder, (verdict, report) in verdicts([row["folder"] for row in rows]).items():
        assert verdict == "passed", f"{folder}: {report}"


def test_a_model_for_training_alone_says_so(tmp_path: Path) -> None:
    assert "this model is for training alone" in run("siamese/pytorch", tmp_path / "w")["message"]


def test_what_is_not_there_says_so(tmp_path: Path) -> None:
    assert run("cnn/pytorch", tmp_path / "w", parallelism="tensor_parallel")["outcome"] == "not run"
    assert "there are" in run("cnn/pytorch", tmp_path / "w", variant="enormous")["message"]
    assert model.run({"loader": "x", "folder": "y", "colour": "red"}, print)["error_class"] == "bad_request"
