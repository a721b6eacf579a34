"""Loaders that misbehave, in one run with one that does not: each costs its own test, and the next one meets the process as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cupel._files import command_path

ROOT = Path(__file__).resolve().parent.parent.parent

BASE = """
import torch
from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

{before}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.nn.functional.relu(self.layer(x))

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Fault", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self):
        {build}
        return Model()

    def make_inputs(self, batch_size, generator):
        return normal(generator, 4, 8)
"""
# What each does at the top of its file, and while it builds its model. They run one after another, by name, in one worker.
LOADERS = {
    "a_good": ("", "pass"),
    "b_changes_folder": ("import os", "os.makedirs('/tmp/elsewhere', exist_ok=True); os.chdir('/tmp/elsewhere'); os.environ['OMP_NUM_THREADS'] = '77'; os.environ.pop('PATH')"),
    "c_good": ("import os\nassert os.environ['PATH'] and os.environ.get('OMP_NUM_THREADS') != '77' and os.getcwd() != '/tmp/elsewhere'", "pass"),
    "d_patches_torch": ("", "torch.nn.functional.relu = lambda x: x * 0 + 3"),
    "e_good": ("", "assert torch.nn.functional.relu(torch.tensor(2.0)) == 2"),
    "f_forks": ("import os, time", "(os.fork() or time.sleep(1000))"),
    "g_prints": ("import sys", "[sys.stdout.write('x' * (1 << 20)) for _ in range(1024)]"),
    "h_is_killed": ("import os, signal", "os.kill(os.getpid(), signal.SIGKILL)"),
    "i_closes_files": ("import os", "os.closerange(0, 3)"),
    "j_leaves_threads": ("import threading", "threading.Thread(target=threading.Event().wait).start()"),
    "k_good": ("", "pass"),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict], str]:
    folder = tmp_path_factory.mktemp("faults")
    zoo = folder / "tt_forge_models"
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).parent.mkdir(exist_ok=True)
        (zoo / name).write_text((ROOT / "zoo/models" / name).read_text())
    for name, (before, build) in LOADERS.items():
        loader = zoo / name / "pytorch/loader.py"
        loader.parent.mkdir(parents=True)
        loader.write_text(BASE.format(before=before, build=build))
    report = folder / "run.json"
    done = subprocess.run([command_path(), "run", "--zoo", zoo, "-k", "single_device and inference", "--suite", "models", "--device", "cupel", "-j", "1", "--python", sys.executable,
                           "--results", folder / "results", "--json", report], capture_output=True, text=True, check=False, timeout=500)
    tests = json.loads(report.read_text())["tests"]
    assert len(tests) == len(LOADERS), "every test once\n" + done.stdout + done.stderr
    return {test["model_path"].split("/")[0]: test for test in tests}, str(zoo)


@pytest.mark.parametrize("name", [name for name in LOADERS if name not in ("h_is_killed",)])
def test_it_passes_whatever_came_before(ran: tuple[dict[str, dict], str], name: str) -> None:
    test = ran[0][name]
    assert test["outcome"] == "passed" and len(test["comparisons"]) == 1, (test["message"], test.get("output", "")[-500:])


def test_one_that_is_killed_says_so(ran: tuple[dict[str, dict], str]) -> None:
    test = ran[0]["h_is_killed"]
    assert (test["outcome"], test["last_stage"], test["signal"]) == ("crashed", "load", 9), test


def test_what_was_changed_is_told(ran: tuple[dict[str, dict], str]) -> None:
    assert ran[0]["d_patches_torch"]["notes"]["replaced"] == "torch.nn.functional.relu"
    assert all("replaced" not in test.get("notes", {}) for name, test in ran[0].items() if name != "d_patches_torch")


def test_processes_that_are_left_are_ended(ran: tuple[dict[str, dict], str]) -> None:
    assert "left running and have been ended" in ran[0]["f_forks"]["notes"]["left_running"]
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [process] if ran[1] in Path(f"/proc/{process}/environ").read_text(errors="replace") + Path(f"/proc/{process}/cmdline").read_text(errors="replace") else []
        except OSError:
            continue
    assert not found


def test_what_is_printed_is_kept_within_bounds(ran: tuple[dict[str, dict], str]) -> None:
    assert 0 < len(ran[0]["g_prints"].get("output", "x")) < 1 << 20
