"""Graphs of models: what becomes an input, what is expected, and what torch.export cannot do."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import signal
import sys
import time
from collections.abc import Callable

import numpy
import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from cupel.torch.captured import capture
from cupel.torch.graphs import Graph, NotCaptured, lift_random
from cupel.torch.structure import Flat, results_of
from cupel.torch.time_limit import TookTooLong, limited
from cupel.torch.time_limit import test_time as limit_of_a_test
from cupel.worker.llm import Padding
from cupel.worker.loaders import LoaderError
from cupel.worker.model_files import lower
from cupel.worker.model_golden import golden_inference, golden_training


def captured(model: nn.Module, *args: object, seed: int = 0, **kwargs: object):
    golden = golden_inference(None, model.eval(), args, kwargs, seed)
    return capture(golden.flat, golden.expected, seed)


def operators(graph: Graph) -> list[str]:
    return [node["target"] for node in json.loads(graph.program.text)["graph_module"]["graph"]["nodes"]]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head, self.idle = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False), nn.Linear(2, 2)
        self.head.weight = self.words.weight

    def forward(self, ids: torch.Tensor, unused: torch.Tensor) -> torch.Tensor:
        return self.head(self.words(ids))


def test_weights_are_inputs_once_and_are_not_copied() -> None:
    model = Tied()
    result = captured(model, torch.arange(3), torch.ones(2))
    (graph,) = result.graphs
    assert result.method == "export"
    assert graph.input_names == ["0", "1", "words.weight"], "arguments first, tied weights once, idle ones not at all"
    assert graph.inputs[2].data_ptr() == model.words.weight.data_ptr()


def test_a_graph_break_gives_two_graphs() -> None:
    class Branching(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(x * 2)
            return y + 1 if float(y.sum()) > 0 else y.flip(0)

    result = captured(Branching(), torch.tensor([1.0, 2.0]))
    assert result.method == "compile" and len(result.graphs) == 2
    assert "data-dependent" in result.refusal.lower() or "guard" in result.refusal.lower(), result.refusal
    assert result.breaks and not result.outside
    first, second = result.graphs
    assert torch.allclose(second.expected[-1], torch.tanh(torch.tensor([2.0, 4.0])) + 1)


class Hides(nn.Module):
    """torch.compile leaves a part of it to Python."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    @torch._dynamo.disable
    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(self.layer(x)).values

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.hidden(x * 2)) + x if float(x.sum()) > 0 else x


def test_what_would_run_between_graphs_is_computed_where_a_trace_holds_it() -> None:
    result = captured(Hides(), torch.ones(3, 4))
    assert result.method == "trace" and not result.outside, (result.method, result.outside)
    assert re.search(r"torch.export: .*; torch.compile: 2 calls run between its \d graphs: linear, sort", result.refusal), result.refusal
    assert any("sort" in name for name in operators(result.graphs[0]))


def test_graphs_are_taken_where_results_have_no_element() -> None:
    """A detector that finds nothing: a trace has nothing that could be judged, and graphs have what passes between them."""

    class Finds(Hides):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = torch.tanh(self.layer(x))
            return torch.sort(scores[scores > 2]).values * 3

    result = captured(Finds(), torch.ones(3, 4))
    assert result.method == "compile" and any(tensor.numel() for graph in result.graphs for tensor in graph.expected), result.method
    assert result.refusal.endswith("which judges nothing"), result.refusal


def test_in_training_too() -> None:
    golden = golden_training(Loader(), Hides().train(), (torch.ones(3, 4),), {}, 0)
    result = golden.capture()
    assert result.method == "trace" and not result.outside, (result.method, result.outside)
    assert "calls run between its" in result.refusal and "linear" in result.refusal, result.refusal


class Faint(Hides):
    """One of its gradients is as nothing beside the others."""

    def __init__(self) -> None:
        super().__init__()
        self.faint = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + x * self.faint * 1e-7


@pytest.mark.parametrize("name", ["faint", "layer.weight"])
def test_gradients_of_a_trace_are_held_against_the_models_together(name: str) -> None:
    golden = golden_training(Loader(), Faint().train(), (torch.ones(3, 4),), {}, 0)
    golden.expected[golden.result_names.index(name)].mul_(2)
    if name == "faint":
        assert golden.capture().method == "trace"
        return
    with pytest.raises(NotCaptured, match="traced: .*gradients are off by"):
        golden.capture()


def test_what_runs_between_graphs_is_told_where_a_trace_leaves_as_much_to_torch() -> None:
    class Counts(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.tanh(x), torch.bincount((x.abs() * 3).long())

    result = captured(Counts(), torch.tensor([1.0, 2.0]))
    assert result.method == "compile" and result.outside == {"bincount": 1}, (result.method, result.outside)
    assert result.refusal.endswith("traced: it leaves 1 calls to torch, and torch.compile 1"), result.refusal


def test_a_trace_that_no_frontend_takes_leaves_the_graphs_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        @staticmethod
        def from_torch(text: str, options: dict) -> None:
            raise ValueError("sort is not lowered")

    monkeypatch.setattr("cupel.torch.graphs.Module", Nothing)
    result = captured(Hides(), torch.ones(3, 4))
    assert result.method == "compile" and result.outside == {"linear": 1, "sort": 1}, (result.method, result.outside)
    assert result.refusal.endswith("traced: ValueError: sort is not lowered"), result.refusal


def test_sparse_tensors_are_no_part_of_a_graph() -> None:
    class Neighbours(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            edges = torch.sparse_coo_tensor(torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.ones(3), (3, 3))
            return torch.tanh(self.layer(torch.sparse.mm(edges, self.layer(x))))

    result = captured(Neighbours(), torch.randn(3, 4))
    assert result.method != "export" and "layout sparse_coo" in result.refusal, (result.method, result.refusal)
    for graph in result.graphs:
        lower(graph)


def test_a_size_that_depends_on_data_is_no_part_of_a_graph() -> None:
    class Picks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2)[x > 0].sum() + x

    result = captured(Picks(), torch.tensor([1.0, -2.0, 3.0]))
    assert result.method == "compile"
    assert all("nonzero" not in name and "index.Tensor" not in name for graph in result.graphs for name in operators(graph))


def test_what_is_random_is_an_input() -> None:
    class Noisy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn(3) * 2 + torch.rand_like(x)

    golden = golden_inference(None, Noisy(), (torch.zeros(3),), {}, seed=5)
    (graph,) = capture(golden.flat, golden.expected, seed=5).graphs
    assert [name for name in graph.input_names if name.startswith("drawn")] == ["drawn_0", "drawn_1"]
    assert not [name for name in operators(graph) if "rand" in name]
    assert torch.allclose(graph.inputs[1] * 2 + graph.inputs[2], golden.expected[0])


@pytest.mark.parametrize("draw", [lambda: random.random(), lambda: float(numpy.random.rand()), lambda: float(numpy.random.permutation(100)[0])], ids=["python", "numpy", "permutation"])
def test_what_python_draws_is_the_same_in_every_run(draw: Callable[[], float]) -> None:
    class Drawing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * draw()

    golden = golden_inference(None, Drawing(), (torch.ones(3),), {}, seed=5)
    again = golden_inference(None, Drawing(), (torch.ones(3),), {}, seed=5)
    assert torch.equal(golden.expected[0], again.expected[0]) and "state" not in golden.facts
    random.seed(77)
    numpy.random.seed(77)
    assert torch.equal(golden.flat(torch.ones(3))[0], golden.expected[0])
    assert capture(golden.flat, golden.expected, seed=5).method == "export"


def test_only_what_random_calls_need_is_run_to_know_what_they_draw() -> None:
    """Behind the last of them may come minutes of a backward pass."""
    def step(x: torch.Tensor) -> torch.Tensor:
        return torch.mm(torch.ops.aten.native_dropout(torch.sin(x), 0.5, True)[0], torch.cos(x))

    class Called(TorchDispatchMode):
        names: list[str] = []

        def __torch_dispatch__(self, func: object, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.randn(4, 4)
    module = make_fx(step, tracing_mode="fake")(x)
    with Called() as called:
        (mask,), _ = lift_random(module, [x], lambda: torch.manual_seed(7))
    assert "aten.sin.default" in called.names and not {"aten.cos.default", "aten.mm.default"} & set(called.names), called.names
    torch.manual_seed(7)
    expected = step(x)
    module.recompile()
    assert torch.equal(module(x, mask), expected)


def test_weights_are_not_copied_to_know_what_random_calls_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """They lay there twice; only what writes to its inputs gets others."""
    def drops(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.native_dropout(torch.sin(x), 0.5, True)[0]

    def drops_in_place(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.native_dropout(torch.ops.aten.sin_(x), 0.5, True)[0]

    copied: list[int] = []
    clone = torch.Tensor.clone
    x = torch.randn(4, 4)
    before = x.clone()
    for step, copies in ((drops, 0), (drops_in_place, 1)):
        module = make_fx(step, tracing_mode="fake")(x.clone())
        with monkeypatch.context() as patched:
            patched.setattr(torch.Tensor, "clone", lambda tensor, *args, **kwargs: (copied.append(tensor.numel()), clone(tensor, *args, **kwargs))[1])
            (mask,), _ = lift_random(module, [x], lambda: torch.manual_seed(7))
        assert len(copied) == copies and torch.equal(x, before), (step, copied)
        torch.manual_seed(7)
        expected = step(x.clone())
        module.recompile()
        assert torch.equal(module(x.clone(), mask), expected)


def test_a_model_that_changes_its_mind_when_captured_is_found_out() -> None:
    class TwoFaced(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * (5 if torch.compiler.is_compiling() else 1)
            return y + float(x.sum())

    result = captured(TwoFaced(), torch.ones(4))
    assert result.method == "trace" and "its graphs give another result than the model" in result.refusal


def test_a_model_that_nothing_captures_says_why() -> None:
    class Foreign(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tensor([float(value) for value in x.tolist()])

    with pytest.raises(NotCaptured, match="torch.export: .*torch.compile: .*no graph in it that computes.*traced: "):
        captured(Foreign(), torch.ones(4))


class Trained(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm, self.dropout = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Dropout(0.4)
        self.head, self.idle = nn.Linear(16, 5), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.dropout(torch.relu(self.norm(self.convolution(x))).flatten(1)))


class Loader:
    @staticmethod
    def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
        return output


def test_training_gives_the_output_and_each_gradient_with_the_same_dropout() -> None:
    torch.manual_seed(1)
    model, x = Trained().train(), torch.randn(2, 3, 4, 4)
    before = model.norm.running_mean.clone()
    golden = golden_training(Loader, model, (x,), {}, seed=3)
    assert golden.facts["without_gradient"] == ["idle.bias", "idle.weight"]
    assert torch.equal(model.norm.running_mean, before), "the next run would start from other statistics"
    (graph,) = golden.capture().graphs
    assert golden.result_names[-1] == "output" and len(golden.result_names) == 6
    masks = [tensor for name, tensor in zip(graph.input_names, graph.inputs, strict=True) if name.startswith("drawn")]
    assert [mask.dtype for mask in masks] == [torch.bool], "the mask is drawn, and nothing else is taken from torch's run"
    results = run(graph)
    for name, actual, expected in zip(golden.result_names, results, graph.expected, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{name}: {text}")


class Sampled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.picture = nn.Parameter(torch.arange(2 * 24 * 5 * 6, dtype=torch.float32).reshape(2, 24, 5, 6).sin())

    def forward(self, grid: torch.Tensor) -> torch.Tensor:
        return nn.functional.grid_sample(self.picture, grid, align_corners=False)


def test_pictures_are_looked_up_a_row_of_channels_at_a_time() -> None:
    """One number a point says where: one for every channel and coordinate is many times the picture."""
    torch.manual_seed(2)
    golden = golden_training(Loader, Sampled().train(), (torch.rand(2, 7, 3, 2) * 2.4 - 1.2,), {}, seed=0)
    (graph,) = golden.capture().graphs
    text = lower(graph).text
    indices = [math.prod(map(int, shape.split("x")[:-1])) for shape in re.findall(r"tensor<([0-9x]+x)i64>", text)]
    assert "stablehlo.gather" in text or "stablehlo.scatter" in text, text
    assert indices and max(indices) <= 2 * 7 * 3, "points of both pictures"
    for actual, expected in zip(run(graph), golden.expected, strict=True):
        torch.testing.assert_close(actual, expected)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 4), nn.Linear(4, 3)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.table(input_ids)))


def test_padding_is_left_out_of_the_output_that_training_compares() -> None:
    inputs = {"input_ids": torch.arange(6).reshape(2, 3), "attention_mask": torch.tensor([[0, 1, 1], [0, 0, 1]])}
    golden = golden_training(Loader, Words().train(), (), inputs, 0, Padding.of(inputs))
    assert golden.result_names == ["table.weight", "head.weight", "head.bias", "output"] and tuple(golden.expected[-1].shape) == (3, 3)
    assert bool((golden.expected[0][:6] != 0).all()), "gradients come from padding too"
    for actual, expected in zip(run(golden.capture().graphs[0]), golden.expected, strict=True):
        torch.testing.assert_close(actual, expected)


class Computed(TorchDispatchMode):
    """Counts the products that are computed with real numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.products = 0

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        if call in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default):
            self.products += all(type(one) in (torch.Tensor, nn.Parameter) and not one.is_meta for one in args if isinstance(one, torch.Tensor))
        return call(*args, **(kwargs or {}))


def test_training_is_not_computed_to_be_captured_and_keeps_its_lines() -> None:
    with Computed() as computed:
        golden = golden_training(Loader, Words().train(), (torch.arange(3)[None], torch.ones(1, 3)), {}, 0)
    assert computed.products == 3, "forward, and backward for weight and input"
    with Computed() as computed:
        (graph,) = golden.capture().graphs
    assert computed.products == 0, "a capture that computes takes as long as the model"
    nodes = json.loads(graph.program.text)["graph_module"]["graph"]["nodes"]
    products = [node for node in nodes if "mm" in node["target"]]
    assert len(products) == 3 and all("test_captured.py" in node["metadata"].get("stack_trace", "") for node in products), nodes


def test_tied_weights_have_one_gradient() -> None:
    model = Tied().train()
    golden = golden_training(Loader, model, (torch.arange(3), torch.ones(2)), {}, seed=0)
    assert golden.result_names == ["words.weight", "output"]
    for actual, expected in zip(run(golden.capture().graphs[0]), golden.expected, strict=True):
        torch.testing.assert_close(actual, expected)


def test_a_result_without_a_handler_is_the_loaders_matter() -> None:
    class Unaware:
        @staticmethod
        def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
            raise ValueError("No handler for class Tensor exists")

    with pytest.raises(LoaderError, match="unpack_forward_output fails on a Tensor: ValueError: No handler") as raised:
        golden_training(Unaware, nn.Linear(2, 2), (torch.ones(1, 2),), {}, 0)
    assert raised.value.kind == "no_output"


def test_frozen_models_cannot_be_trained() -> None:
    model = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(RuntimeError, match="does not require grad"):
        golden_training(Loader, model, (torch.ones(1, 2),), {}, 0)


def run(graph: Graph) -> list[torch.Tensor]:
    from cupel.torch.arrays import from_array, to_array
    from cupel.torch.backend import open_device
    from cupel.torch.options import parse

    device = open_device(parse({}))
    executable = device.compile(lower(graph).portable(device.stablehlo_version))
    return [from_array(result) for result in executable.run([to_array(tensor) for tensor in graph.inputs])]


def test_a_cache_comes_out_as_keys_and_values() -> None:
    class Layer:
        def __init__(self, keys: torch.Tensor, values: torch.Tensor):
            self.keys, self.values = keys, values

    class Cached(nn.Module):
        def forward(self, x: torch.Tensor, past: Layer) -> dict[str, object]:
            past.keys.index_copy_(0, torch.tensor([1]), x)
            return {"logits": past.keys * 2, "past": past, "length": 2, "nothing": None}

    past = Layer(torch.zeros(2, 3), torch.ones(2, 3))
    golden = golden_inference(None, Cached(), (torch.ones(1, 3), past), {}, 0)
    assert golden.result_names == ["logits", "past.keys", "past.values"]
    (graph,) = capture(golden.flat, golden.expected).graphs
    assert past.keys.sum() == 0
    assert [torch.equal(actual, expected) for actual, expected in zip(run(graph), graph.expected, strict=True)] == [True] * 3
    flat = Flat(Cached(), (torch.ones(1, 3), past), {}, lambda output: [tensor for _, tensor in results_of(output)])
    assert len(flat.inputs) == 3


def test_graphs_that_hold_too_much_give_way_to_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Branching(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(x * 2)
            return y + 1 if float(y.sum()) > 0 else y.flip(0)

    monkeypatch.setattr("cupel.torch.captured.MAX_BYTES", 8)
    result = captured(Branching(), torch.tensor([1.0, 2.0]))
    assert result.method == "trace" and "pass between its graphs" in result.refusal
    monkeypatch.undo()
    work = itertools.count(step=1000)
    monkeypatch.setattr("cupel.torch.captured.time.process_time", lambda: next(work))
    assert "s to find" in captured(Branching(), torch.tensor([1.0, 2.0])).refusal


class Long(nn.Module):
    """Nothing to compute, and much to trace; what is raised in it is swallowed once."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            try:
                for _ in range(1200):
                    x = torch.tanh(self.layer(x))
            except Exception:
                continue
        return x


@pytest.mark.parametrize("is_training", [False, True])
def test_ways_that_take_too_long_give_way_to_a_trace(monkeypatch: pytest.MonkeyPatch, is_training: bool) -> None:
    monkeypatch.setattr("cupel.torch.captured.MAX_SECONDS", 0.1)
    monkeypatch.setattr("cupel.torch.time_limit._AGAIN", 0.05)
    if is_training:
        model, x = Long(), torch.randn(2, 4)
        result = golden_training(Loader, model, (x,), {}, 0).capture()
    else:
        result = captured(Long(), torch.randn(2, 4))
    assert result.method == "trace" and "processor time" in result.refusal, result.refusal
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize("is_training", [False, True])
def test_no_way_takes_more_than_half_of_what_is_left_of_a_tests_time(monkeypatch: pytest.MonkeyPatch, is_training: bool) -> None:
    """On a machine that gives a process little time its processor time says nothing of when the test ends."""
    monkeypatch.setattr("cupel.torch.time_limit._AGAIN", 0.05)
    golden = golden_training(Loader, Long(), (torch.randn(2, 4),), {}, 0) if is_training else golden_inference(None, Long().eval(), (torch.randn(2, 4),), {}, 0)
    with limit_of_a_test(0.4):
        result = golden.capture()
    assert result.method == "trace" and result.refusal.count("half of what was left of the test's time (--timeout)") == 2, result.refusal
    assert "torch.export" in result.refusal and "more than 0.2 s" in result.refusal and "torch.compile takes more than" in result.refusal, result.refusal
    assert captured(nn.Linear(2, 2), torch.randn(2)).method == "export", "the next test has its own time"


class Forgiving(nn.Module):
    """Takes any error for the sign that a layer does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            for _ in range(400):
                x = torch.tanh(self.layer(x))
        except Exception:
            return x * 2
        return x


def test_a_way_that_was_stopped_gives_no_graph_even_where_the_model_goes_on() -> None:
    model, x = Forgiving(), torch.randn(2, 4)
    with pytest.raises(TookTooLong, match="the way takes more than"), torch.no_grad(), limited(0.05, "the way"):
        torch.export.export(model, (x,), strict=False)


def test_what_takes_too_long_is_stopped_where_python_calls() -> None:
    """And nowhere else: C++ that called Python may take no exception from it, and the process would end."""
    layer, x, reached = nn.Linear(2, 2), torch.ones(2), False
    with pytest.raises(TookTooLong, match="a loop takes more than 0.02 s"), limited(0.02, "a loop"):
        end = time.process_time() + 0.2
        while time.process_time() < end:
            x = x + 1
        reached = True
        layer(x)
    assert reached and sys.getprofile() is None
    layer(x)


class TwoFaced(nn.Linear):
    """As models that prepare their masks otherwise while they are traced."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * (3 if torch.compiler.is_compiling() else 1)


def test_a_graph_is_compared_with_its_model_where_asked() -> None:
    torch.manual_seed(0)
    for make, model in ((golden_inference, TwoFaced(4, 4).eval()), (golden_training, TwoFaced(4, 4).train())):
        golden = make(Loader, model, (torch.randn(2, 4),), {}, seed=0)
        assert golden.capture().method == "export", "nobody has reason to doubt it"
        made = golden.capture(True)
        assert made.method == "trace" and "its graph gives another" in made.refusal, made.refusal
        for actual, expected in zip(run(made.graphs[0]), golden.expected, strict=True):
            torch.testing.assert_close(actual, expected)


def test_a_graph_that_is_the_model_is_kept_when_it_is_compared() -> None:
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    for make, model in ((golden_inference, block.eval()), (golden_training, block.train())):
        golden = make(Loader, model, (torch.randn(6, 4),), {}, seed=0)
        golden.capture()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        made = golden.capture(True)
        assert made.method == "export", made.refusal
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, before[name], msg=f"{name} moved")
