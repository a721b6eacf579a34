"""Graphs of torch.export as the frontend reads them: what is taken as it was exported, and what has to be taken apart first."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from cupel._native import NativeError
from cupel.torch.arrays import from_array, to_array
from cupel.torch.backend import open_device
from cupel.torch.captured import capture
from cupel.torch.graphs import Graph
from cupel.torch.options import parse
from cupel.worker.model_files import lower
from cupel.worker.model_golden import golden_inference, golden_training
from test_captured import Loader, run


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that a graph is traced once more."""
    times: list[str] = []
    real = torch.export.ExportedProgram.run_decompositions

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        times.append("taken apart")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    return times


def captured(model: nn.Module, *args: torch.Tensor) -> Graph:
    golden = golden_inference(None, model.eval(), args, {}, 0)
    result = capture(golden.flat, golden.expected, 0)
    assert result.method == "export", result.refusal
    return result.graphs[0]


def on_a_device(graph: Graph) -> list[torch.Tensor]:
    device = open_device(parse(None))
    executable = device.compile(lower(graph).portable(device.stablehlo_version))
    return [from_array(result) for result in executable.run([to_array(tensor) for tensor in graph.inputs])]


def agree(graph: Graph) -> None:
    results = on_a_device(graph)
    assert len(results) == len(graph.expected)
    for found, wanted in zip(results, graph.expected, strict=True):
        assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-5)


class Overwriting(nn.Module):
    """Writes to what it computed, through views too, and makes constants. torch itself forgets, where it takes graphs apart, that dropout of nothing is the very tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.act = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(self.norm(self.layer(x)))
        y[:, 0] += torch.tensor([2.0, 3.0]).sum()
        y.transpose(2, 3)[:, 1].mul_(-1)
        first, second = nn.functional.dropout(y, 0.5, self.training).chunk(2, 1)
        first.copy_(second * 3)
        return y


def test_writes_to_what_is_computed_need_no_second_trace(taken_apart: list[str]) -> None:
    graph = captured(Overwriting(), torch.randn(2, 3, 6, 6))
    assert not taken_apart
    agree(graph)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.view(1, 1)[0] += 1
        return x * self.count


class Marking(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.view(-1)[0] = 7
        return x * 2


@pytest.mark.parametrize("model", [Counting(), Marking()], ids=["a buffer", "an argument"])
def test_writes_to_what_comes_in_are_taken_apart(taken_apart: list[str], model: nn.Module) -> None:
    """Otherwise the program would have results of which nothing is expected."""
    graph = captured(model, torch.randn(2, 3))
    assert taken_apart and not graph.gives_more
    agree(graph)


class Dropping(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x * 2, 0.5, training=True) + 1


def test_of_what_is_drawn_the_mask_alone_comes_in(taken_apart: list[str]) -> None:
    """A whole call that draws would bring its result along, and a device would compute nothing of it."""
    graph = captured(Dropping(), torch.randn(40))
    assert not taken_apart and [tensor.dtype for tensor in graph.inputs] == [torch.float32, torch.bool]
    agree(graph)


def test_what_the_frontend_refuses_is_taken_apart(taken_apart: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = Graph.lowered

    def refusing(self: Graph, **options: Any) -> Any:
        if not taken_apart:
            raise NativeError("there is no lowering for aten.linear")
        return real(self, **options)

    monkeypatch.setattr(Graph, "lowered", refusing)
    graph = captured(nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True)), torch.randn(2, 3))
    assert taken_apart
    agree(graph)


class Reaching(nn.Module):
    """As EfficientNet pools: one window, of whatever size, that reaches beyond the picture."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 1)
        self.average, self.largest = nn.AvgPool2d(320, ceil_mode=True), nn.MaxPool2d(9, stride=8, padding=1, dilation=2, ceil_mode=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return self.average(y) + self.largest(y)


def test_windows_may_reach_beyond_the_picture() -> None:
    torch.manual_seed(0)
    for make, model in ((golden_inference, Reaching().eval()), (golden_training, Reaching().train())):
        golden = make(Loader, model, (torch.randn(2, 3, 10, 9),), {}, seed=0)
        (graph,) = golden.capture().graphs
        for actual, expected in zip(run(graph), golden.expected, strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
