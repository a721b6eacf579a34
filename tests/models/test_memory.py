"""What a test of a model holds in memory: its weights at most twice, and said in the record."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cupel._files import command_path

ROOT = Path(__file__).resolve().parent.parent.parent
WEIGHTS = 3 * 8192 * 4096 * 2
# Activations are a few kilobytes; the rest is what importing and tracing leave in allocators.
SLACK = 96 << 20
LOADER = """
import torch
from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class Layer(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((8192, 4096), 0.01, dtype=dtype))

    def forward(self, x):
        return torch.tanh(x @ self.weight)[:, :4096]

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Big", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self): ...

    def load_model(self, *, dtype_override=None):
        return torch.nn.Sequential(torch.nn.ZeroPad1d((0, 4096)), Layer(dtype_override), torch.nn.ZeroPad1d((0, 4096)), Layer(dtype_override), torch.nn.ZeroPad1d((0, 4096)), Layer(dtype_override))

    def make_inputs(self, batch_size, generator):
        return normal(generator, 2, 4096)
"""


def held() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("memory")
    loader = folder / "zoo/big/pytorch/loader.py"
    loader.parent.mkdir(parents=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (folder / "zoo" / name).write_text((ROOT / "zoo/models" / name).read_text())
    loader.write_text(LOADER)
    done = subprocess.run([command_path(), "run", "--zoo", folder / "zoo", "--suite", "models", "models::big/pytorch-single_device-inference", "--device", "cupel", "-j1", "--python", sys.executable,
                           "--noise", "0", "--repeat", "3", "--results", folder / "results", "--json", folder / "run.json"], capture_output=True, text=True, check=False, timeout=400)
    (test,) = json.loads((folder / "run.json").read_text())["tests"]
    assert test["comparisons"], done.stdout + done.stderr
    return test


def test_the_python_worker_holds_weights_once_or_twice(record: dict) -> None:
    weights, taken = (float(number) for number in re.fullmatch(r"weights ([\d.]+) MiB; the Python worker took ([\d.]+) MiB for the test \([a-z]+ \d+(?:, [a-z]+ \d+)*\)", record["notes"]["memory"]).groups())
    assert weights == WEIGHTS / 2**20 and taken * 2**20 < 2 * WEIGHTS + SLACK, record["notes"]["memory"]


def test_the_devices_worker_holds_weights_once_or_twice(record: dict) -> None:
    """Lent to the device, which packs one after the other; other inputs, nearly all of them weights, are gone once they are packed, and made again for the judge. It was 6 times the weights."""
    taken = float(re.fullmatch(r"took ([\d.]+) MiB for the test", record["notes"]["memory of the device's worker"])[1])
    assert int(record["notes"]["executions"]) >= 3, record["notes"]
    # Where kernels multiply f32, bf16 takes twice the room when it is packed, and one of the three lies beside its form.
    assert taken * 2**20 < (2 + 1 / 3) * WEIGHTS + SLACK, record["notes"]


def test_activations_are_told_apart_from_weights(record: dict) -> None:
    """The device computes with a few rows; the reference widens the one weight that it multiplies with, from 64 to 128 MiB."""
    device, reference, arguments = (float(number) for number in re.fullmatch(
        r"device ([\d.]+) MiB, reference ([\d.]+) MiB, beside arguments of ([\d.]+) MiB", record["notes"]["activations"]).groups())
    assert 0 < device < 2 and 2 <= reference < 160 and WEIGHTS / 2**20 <= arguments < WEIGHTS / 2**20 + 1, record["notes"]["activations"]


def test_the_peak_is_that_of_all_processes_together(record: dict) -> None:
    """The Python worker, which keeps torch (more than 100 MiB), beside the one that runs the device."""
    python, device = (int(record["notes"]["memory"].rpartition("took ")[2].split(".")[0]) << 20), WEIGHTS
    assert record["peak_memory_bytes"] > max(python, device) + (100 << 20), record["peak_memory_bytes"]


def test_what_a_test_freed_goes_back_to_the_machine() -> None:
    """Free pieces below one that is still used stay with the process: half a gigabyte after a model of 150 million parameters, which the record of the next one counted."""
    from cupel.worker.process_memory import clean_up

    pieces = [bytearray(60_000) for _ in range(5000)]
    still_used, before = bytearray(60_000), held()
    del pieces
    clean_up()
    assert before - held() > 200e6 and len(still_used) == 60_000


def test_what_loading_freed_goes_back_before_the_model_runs() -> None:
    """Loaders make weights in float32 and round them: twice what is left of them stayed with the process while the model was run and captured."""
    from cupel.worker.steps import Steps

    steps = Steps(ROOT, lambda stage: None)
    with steps.step("model", "loader_model", "the model cannot be loaded"):
        pieces = [bytearray(60_000) for _ in range(5000)]
        still_used, before = bytearray(60_000), held()
        del pieces
    after = held()
    steps.end()
    assert before - after > 200e6 and len(still_used) == 60_000
    assert steps.peak_bytes["model"] >= before


def test_garbage_of_a_test_is_looked_for_among_what_the_test_made(tmp_path: Path) -> None:
    """Libraries hold half a million objects: to look through them took a third of a second behind every test, and most of what small ones cost besides their work."""
    script = f"""
import gc, sys, weakref
from pathlib import Path
from cupel.worker import model, process_memory

class Node:
    pass

def ring(size):
    one = Node()
    one.self, one.bytes = one, bytearray(size)
    return one

left_by_others = ring(200 << 20)  # Held by something until a test replaces it.
seen = []
class Test(model.ModelTest):
    def _capture(self):
        global left_by_others
        seen.append(gc.get_freeze_count())
        seen.append(weakref.ref(ring(100)))
        if self.request.test == "lets go":
            seen.append(weakref.ref(left_by_others))
            left_by_others = None
        raise model.StepFailed("", "that is all", "skipped")

def run(name):
    assert Test(model.Request(loader={str(tmp_path / "loader.py")!r}, folder="", zoo={str(tmp_path)!r}, test=name), lambda stage: None).run()["outcome"] == "skipped"

run("first")
assert seen[0] > 1000 and seen[1]() is None and gc.get_freeze_count() > 1000, seen
process_memory._HELD_ON = -(1 << 40)  # As if much were held behind the next one: everything is looked at.
run("lets go")
assert seen[3]() is None and seen[4]() is None, seen
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
