"""Golden results of frameworks are computed once: the second time they come from the cache, where nothing that decides them has changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cupel._files import command_path
from cupel.worker import golden_cache, patches
from cupel.worker.model import REMEMBERED, Request, make_test

ROOT = Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "zoo/models"
LOADER = """
import torch
from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4, 4), 0.5))

    def forward(self, x):
        return (x @ self.weight.to(x.dtype)) FORMULA

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Formula", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self): ...

    def load_model(self, *, dtype_override=None):
        return Model()

    def make_inputs(self, batch_size, generator):
        return normal(generator, 2, 4)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUPEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CUPEL_FRAMEWORKS_CACHE", "64M")
    return tmp_path / "cache/frameworks"


def ran(loader: Path, folder: Path, **asked: object) -> dict:
    answer = make_test(Request(loader=str(loader), folder=str(folder), **asked), lambda stage: None).run()
    assert "capture" in answer, answer
    return answer


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.name.startswith(("expected", "output_", "inputs", "input_"))}


@pytest.mark.parametrize(("model", "mode"), [("siamese/pytorch", "training"), ("cnn/jax", "inference"), ("cnn/onnx", "inference")])
def test_the_second_time_nothing_is_computed(tmp_path: Path, cache: Path, model: str, mode: str) -> None:
    pytest.importorskip({"jax": "flax", "onnx": "onnxruntime"}.get(model.rpartition("/")[2], "torch"))
    loader = ZOO / model / "loader.py"
    first, second = (ran(loader, tmp_path / name, run_mode=mode, test=name) for name in ("first", "second"))
    assert "golden_from" not in first["model"] and second["model"]["golden_from"] == REMEMBERED, (first["model"], second["model"])
    assert contents(tmp_path / "first") == contents(tmp_path / "second") and contents(tmp_path / "first")
    same = {"output", "finite", "gradients", "without_gradient", "golden_calls"}
    assert {name: first["model"].get(name) for name in same} == {name: second["model"].get(name) for name in same}
    if model.endswith("pytorch"):
        assert "golden" in first["seconds"] and "golden" not in second["seconds"], second["seconds"]
    # `cupel cache` reads what Python wrote.
    shown = json.loads(subprocess.run([command_path(), "cache", "show", "frameworks", "--verify", "--json"], capture_output=True, text=True, check=True).stdout)
    assert shown[0]["entries"] == len([path for path in cache.rglob("*") if path.is_file()]) > 0 and shown[0]["damaged"] == 0, shown


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    for name in ("__init__.py", "base.py", "config.py"):
        (tmp_path / "zoo").mkdir(exist_ok=True)
        (tmp_path / "zoo" / name).write_text((ZOO / name).read_text())
    return tmp_path / "zoo"


def write(zoo: Path, formula: str) -> Path:
    loader = zoo / "formula/pytorch/loader.py"
    loader.parent.mkdir(parents=True, exist_ok=True)
    loader.write_text(LOADER.replace("FORMULA", formula))
    return loader


def test_a_changed_model_is_computed_anew(tmp_path: Path, zoo: Path) -> None:
    """Weights and inputs are the same, and so is the test: the captured program tells."""
    plain = ran(write(zoo, "* 2"), tmp_path / "a")
    assert "golden_from" not in plain["model"]
    other = ran(write(zoo, "* 3"), tmp_path / "b")
    assert "golden_from" not in other["model"] and contents(tmp_path / "a")["expected.safetensors"] != contents(tmp_path / "b")["expected.safetensors"]
    again = ran(write(zoo, "* 2"), tmp_path / "c")
    assert again["model"]["golden_from"] == REMEMBERED and "golden" not in again["seconds"] and contents(tmp_path / "a") == contents(tmp_path / "c")
    assert all(again["model"][name] == plain["model"][name] for name in ("output", "finite", "parameters")), again["model"]


def test_damaged_entries_and_no_room_cost_nothing_but_time(tmp_path: Path, zoo: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = write(zoo, "+ 1")
    ran(loader, tmp_path / "a")
    for path in [path for path in cache.rglob("*") if path.is_file()]:
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 3] ^= 1
        path.write_bytes(whole)
    assert "golden_from" not in ran(loader, tmp_path / "b")["model"]
    assert "golden_from" in ran(loader, tmp_path / "c")["model"]
    monkeypatch.setenv("CUPEL_FRAMEWORKS_CACHE", "0")
    assert "golden_from" not in ran(loader, tmp_path / "d")["model"]
    monkeypatch.setenv("CUPEL_FRAMEWORKS_CACHE", "512")  # Nothing fits.
    monkeypatch.setenv("CUPEL_CACHE_DIR", str(tmp_path / "small"))
    ran(loader, tmp_path / "e")
    assert "golden_from" not in ran(loader, tmp_path / "f")["model"]
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == contents(tmp_path / "c") == contents(tmp_path / "d") == contents(tmp_path / "f")


@pytest.mark.parametrize("dtype", ["object", "O", "finfo", "nothing", "float64"])
def test_a_planted_entry_is_as_good_as_none(cache: Path, dtype: str) -> None:
    """Its hash is right, and it holds no numbers, or fewer than its shape says."""
    from cupel.worker.golden_cache import GoldenCache, Value, of_array, to_arrays

    planted = GoldenCache()
    planted.keep("cd" * 32, {}, [Value(dtype, (4,), b"x" * 16)])
    assert planted.find("cd" * 32) is not None and to_arrays(planted.find("cd" * 32)) is None
    planted.keep("cd" * 32, {}, [of_array([1.5, 2.5])])
    assert [one.tolist() for one in to_arrays(planted.find("cd" * 32)) or []] == [[1.5, 2.5]] and to_arrays(None) is None


def test_values_are_hashed_in_their_order_however_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [golden_cache.Value("uint8", (i,), np.full(i, i % 251, np.uint8)) for i in (5000, 0, 3, 100_000, 7, 4096, *range(40))]
    whole = hashlib.sha256(json.dumps({"a": 1}).encode())
    for value in values:
        whole.update(f"\n{value.dtype} {value.shape}\n".encode() + hashlib.sha256(value.data).digest())
    for count in (1, 2, 8):
        monkeypatch.setattr(golden_cache, "_HASHED_AT_ONCE", count)
        assert golden_cache.key_of({"a": 1}, (), iter(values)) == whole.hexdigest()


def test_a_test_asks_once_whether_frameworks_are_what_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 50 ms where large libraries are imported."""
    asked: list[int] = []
    patches.watched()  # Which says how to find out.
    monkeypatch.setattr(golden_cache, "is_trusted", lambda: not asked.append(1))
    ran(ZOO / "siamese/pytorch/loader.py", tmp_path / "first", run_mode="training", test="first")
    assert len(asked) == 1
    # What was kept is not recalled unasked.
    monkeypatch.setattr(golden_cache, "is_trusted", lambda: False)
    assert "golden_from" not in ran(ZOO / "siamese/pytorch/loader.py", tmp_path / "second", run_mode="training", test="second")["model"]


TABLES = """
import functools
import torch

@functools.lru_cache(maxsize=None)
def angles(size):
    return torch.arange(size).float().sin()

class Grid:
    known = {}

    def of(self, size):
        if size not in self.known:
            self.known[size] = torch.linspace(0, 1, size)
        return self.known[size]
"""


def test_what_a_library_remembers_has_values(tmp_path: Path, zoo: Path, cache: Path) -> None:
    """A test that was run before is captured first, and what its model has a library remember then has none: neither it nor the next test that asks the library meets that."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library/tables.py").write_text(TABLES)
    for name in ("a", "b", "c"):
        loader = zoo / f"{name}/pytorch/loader.py"
        loader.parent.mkdir(parents=True)
        loader.write_text("import tables\n" + LOADER.replace("FORMULA", f"* {ord(name)} + tables.angles(4).to(x.dtype) * tables.Grid().of(4).to(x.dtype)"))
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path / "library")}

    def run(names: str) -> dict[str, dict]:
        command = [command_path(), "run", "--zoo", zoo, "-k", f"single_device and inference and ({names})", "--suite", "models", "--device", "cupel", "-j", "1", "--python", sys.executable,
                   "--results", tmp_path / "results", "--json", tmp_path / "run.json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env=surroundings)
        tests = {test["model_path"].split("/")[0]: test for test in json.loads((tmp_path / "run.json").read_text())["tests"]}
        assert tests and all(test["outcome"] == "passed" for test in tests.values()), done.stdout + done.stderr
        return tests

    run("a/ or b/")
    again = run("a/ or b/ or c/")  # The first of them is captured first, in a process where nobody asked the library.
    assert "golden from" not in again["a"]["notes"] and "replaced" not in again["a"]["notes"], again["a"]["notes"]
    assert "golden from" in again["b"]["notes"], "what the library holds is what it held when the result was computed"
    # What was found out is remembered: nobody begins anew for it twice.
    once_more = run("a/")
    assert "golden from" not in once_more["a"]["notes"] and "capture" in once_more["a"]["notes"]["seconds of steps"], once_more["a"]["notes"]
