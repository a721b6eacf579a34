"""Calls of models that are recorded without torch.export: what they give is what torch.export gives, and what is refused goes to it, with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn

from cupel.torch import captured, captured_training
from cupel.torch.arrays import from_array, to_array
from cupel.torch.backend import open_device
from cupel.torch.captured import capture
from cupel.torch.graphs import Graph
from cupel.torch.options import parse
from cupel.worker.model_files import lower
from cupel.worker.model_golden import Golden, golden_inference, golden_training


def golden_of(model: nn.Module, *args: torch.Tensor) -> Golden:
    return golden_inference(None, model.eval(), args, {}, 0)


def graph_of(golden: Golden) -> Graph:
    made = capture(golden.flat, golden.expected, 0)
    assert made.method == "export", made.refusal
    return made.graphs[0]


def exporters(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> Graph:
    """The same by torch.export."""
    def refuse(*args: Any) -> Any:
        raise captured.NotRecorded("not now")

    with monkeypatch.context() as patched:
        patched.setattr(captured, "_recorded", refuse)
        graph = graph_of(golden)
    assert graph.not_recorded == "not now"
    return graph


class Network(nn.Module):
    """Tied weights, constants of its own, buffers, writes through views, several results of one call, a layer that keeps a list of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
        self.head.weight = self.embed.weight
        self.norm, self.layers = nn.BatchNorm1d(5), nn.LSTM(8, 8, batch_first=True)
        self.scale = torch.full((8,), 0.5)

    def forward(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.norm(self.embed(ids)) * self.scale
        x, _ = self.layers(x)
        low, high = x.chunk(2, -1)
        low.transpose(0, 1).mul_(torch.tensor(2.0))
        y = nn.functional.dropout(nn.functional.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None]), 0.5, self.training)
        return {"logits": self.head(y[:, 0]), "high": high.softmax(-1)}


def test_it_is_the_program_of_torch_export(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    golden = golden_of(Network(), torch.arange(10).reshape(2, 5))
    ours, theirs = graph_of(golden), exporters(monkeypatch, golden)
    assert ours.not_recorded == "" and ours.lowered().text == theirs.lowered().text
    assert all(torch.equal(one, other) for one, other in zip(ours.inputs, theirs.inputs, strict=True))


def places(graph: Graph) -> list[tuple[str, str]]:
    """Of each call, the last line of a `forward` in this file."""
    nodes = json.loads(graph.program.text)["graph_module"]["graph"]["nodes"]
    return [(node["target"], [line for line in node["metadata"]["stack_trace"].splitlines() if __file__ in line][-1].strip()) for node in nodes]


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.GELU())

    def halved(self, x: torch.Tensor) -> torch.Tensor:
        return x / 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        return self.halved(x) + nn.functional.relu(x)


def test_its_calls_stand_where_torch_export_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = golden_of(Nested(), torch.randn(2, 4))
    found = places(graph_of(golden))
    assert found == places(exporters(monkeypatch, golden)) and len({line for _, line in found}) == 2, found


class Deciding(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.sum().item()
        return x + 1


class Turning(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        y.t_()
        return y * 2


class Choosing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Drawing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noise = torch.empty_like(x)
        noise.view(-1).uniform_()
        return x + noise


@pytest.mark.parametrize(("model", "reason"), [(Deciding(), "values decide that are no integers of the inputs"), (Turning(), "t_.default changes what others know already"), (Choosing(), ""), (Drawing(), "uniform_.default changes")])
def test_what_it_refuses_torch_export_is_asked_for(model: nn.Module, reason: str) -> None:
    golden = golden_of(model, torch.randn(3, 3))
    weights = dict(model.named_parameters())
    graph = graph_of(golden)
    assert graph.not_recorded and reason in graph.not_recorded, graph.not_recorded
    assert dict(model.named_parameters()) == weights and not torch.compiler.is_exporting()


class Swapping(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        y.data = x * 3
        return y


def test_other_memory_behind_a_tensor_is_no_call_that_is_forgotten() -> None:
    golden = golden_of(Swapping(), torch.randn(3))
    made = capture(golden.flat, golden.expected, 0)
    assert made.method != "export" or "sets a tensor's data" in made.graphs[0].not_recorded


def test_a_torch_without_what_it_needs_is_asked_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = golden_of(nn.Linear(3, 3), torch.randn(2, 3))
    monkeypatch.delattr("torch._C._AutoDispatchBelowAutograd")
    graph = graph_of(golden)
    assert "_AutoDispatchBelowAutograd" in graph.not_recorded


class Keeping(nn.Module):
    """Keeps what it computed, as caches do."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.last = nn.Parameter(torch.randn(3)), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x * self.weight
        return self.last + 1


def test_the_model_is_as_it_was() -> None:
    model = Keeping()
    golden = golden_of(model, torch.randn(3))
    weight = model.weight
    graph = graph_of(golden)
    assert graph.not_recorded == "" and model.weight is weight and type(model.last) is torch.Tensor
    assert torch.equal(model(golden.flat.inputs[0][1]), golden.expected[0])


# --- training ----------------------------------------------------------------------------------------------------------------------------


class Loader:
    @staticmethod
    def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
        return output


class Trained(nn.Module):
    """Statistics that move, dropout, writes in place, a weight used twice and one that nobody uses."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.act, self.unused = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Linear(2, 2)
        self.head = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(self.norm(self.layer(x)))
        y = y * 2
        y += x.mean()
        y = nn.functional.dropout(y.mean((2, 3)), 0.5, self.training)
        return self.head(torch.tanh(self.head(y)))


def trained() -> Golden:
    torch.manual_seed(0)
    return golden_training(Loader, Trained().train(), (torch.randn(2, 3, 6, 6),), {}, 0)


def on_a_device(graph: Graph) -> list[torch.Tensor]:
    device = open_device(parse(None))
    executable = device.compile(lower(graph).portable(device.stablehlo_version))
    return [from_array(result) for result in executable.run([to_array(tensor) for tensor in graph.inputs])]


def test_a_step_is_recorded_and_gives_the_gradients() -> None:
    golden = trained()
    made = golden.capture()
    (graph,) = made.graphs
    assert made.method == "export" and graph.not_recorded == "" and "drawn_0" in graph.input_names
    results = on_a_device(graph)
    assert len(results) == len(golden.expected), "statistics that move are no results"
    for name, found, wanted in zip(golden.result_names, results, golden.expected, strict=True):
        assert torch.allclose(found, wanted, rtol=1e-3, atol=1e-4), name


def test_a_step_stands_where_torch_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backward calls in the lines of their forward calls."""
    def refuse(*args: Any) -> Any:
        raise captured.NotRecorded("not now")

    golden = trained()
    (ours,) = golden.capture().graphs
    monkeypatch.setattr(captured_training, "_recorded", refuse)
    (theirs,) = golden.capture().graphs
    assert theirs.not_recorded == "not now"

    def lines(graph: Graph) -> set[tuple[str, str]]:
        nodes = json.loads(graph.program.text)["graph_module"]["graph"]["nodes"]
        placed = ((node["target"], [line.strip() for line in node["metadata"].get("stack_trace", "").splitlines() if __file__ in line]) for node in nodes)
        return {(target, found[-1]) for target, found in placed if found and any(word in target for word in ("mm", "convolution", "norm", "tanh", "sum"))}

    assert lines(ours) == lines(theirs) and any("convolution_backward" in target for target, _ in lines(ours))


def test_of_tied_weights_torch_export_is_asked_for_a_step() -> None:
    """Two parameters that share memory have gradients of their own; only theirs is a way to tell them."""
    model = Trained().train()
    model.register_parameter("same", nn.Parameter(model.head.weight.data))
    golden = golden_training(Loader, model, (torch.randn(2, 3, 6, 6),), {}, 0)
    made = golden.capture()
    assert made.method != "export" or "share memory" in made.graphs[0].not_recorded
