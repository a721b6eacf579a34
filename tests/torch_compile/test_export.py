"""cupel.torch.export: a model as a workload that any device runs."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import torch
from models import MODELS

import cupel.torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/bin"))


def test_run():
    make, inputs = MODELS["encoder"]
    workload = cupel.torch.export(make().eval(), inputs())
    assert "stablehlo" in workload.text
    assert workload.input_names[-1] == "ids"
    for actual, expected in zip(workload.run(), workload.expected, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_function_with_keywords():
    workload = cupel.torch.export(lambda x, *, scale: x * scale, (torch.ones(3),), {"scale": torch.full((3,), 2.0)})
    assert workload.run()[0].tolist() == [2.0, 2.0, 2.0]


def test_gradients_of_grouped_kernels_are_one_convolution():
    """One a group made programs of tens of thousands of operations of networks with depthwise layers."""

    def gradient(g, x, w):
        return torch.ops.aten.convolution_backward(g, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 64, [False, True, False])[1]

    workload = cupel.torch.export(gradient, (torch.randn(2, 64, 5, 6), torch.randn(2, 64, 5, 6), torch.randn(64, 1, 3, 3)))
    assert workload.text.count("stablehlo.convolution") == 1, workload.text
    torch.testing.assert_close(workload.run()[0], workload.expected[0], rtol=1e-4, atol=1e-4)


def test_a_saved_workload_runs_on_the_device_alone(tmp_path):
    make, inputs = MODELS["mlp"]
    folder = cupel.torch.export(make().eval(), inputs(), name="mlp").save(tmp_path / "mlp")
    assert json.loads((folder / "options.json").read_text())["name"] == "mlp"
    plugin = cupel.plugin_path()
    run = subprocess.run([BIN / "cupel-device", "run", plugin, folder], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def test_buffers_that_are_written_come_first():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    workload = cupel.torch.export(Counting(), (torch.ones(2),))
    count, result = workload.run()
    assert count.item() == 1 and result.tolist() == [2.0, 2.0]
