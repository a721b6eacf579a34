"""Models that keep something from call to call: every run of a test begins as the first one did, and what a model only prepares is left to it."""

from __future__ import annotations

import itertools
import threading

import pytest
import torch
from torch import nn

from cupel.torch.captured import capture
from cupel.torch.model_state import ModelState, same_bits
from cupel.worker.loaders import LoaderError
from cupel.worker.model_golden import golden_inference, golden_training, plain_encoders
from test_captured import Loader
from test_traced import run


class Buffer(nn.Module):
    """An average that moves in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("average", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.average.mul_(0.5).add_(self.layer(x).detach().mean(0))
        return x * self.average


class Attribute(nn.Module):
    """A result of the last call that the next one meets."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(4, 4), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        self.last = y if self.last is None else y + self.last
        return self.last


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls, self.seen = nn.Linear(4, 4), 0, []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(self.calls)
        return self.layer(x) + len(self.seen)


class Table(nn.Module):
    """Made at the first call, and the same ever after."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.table, self.made, self.lock = nn.Linear(4, 4), None, 0, threading.Lock()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is None:
            self.made += 1
            self.table = torch.arange(4.0)
        return self.layer(x) + self.table


class Replaced(nn.Module):
    """A weight that each call makes anew."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.layer.weight = nn.Parameter(self.layer.weight * 1.5)
        return self.layer(x)


@pytest.mark.parametrize("kind", [Buffer, Attribute, Counter, Replaced])
def test_a_model_that_changes_with_each_call_is_captured_as_it_was(kind: type[nn.Module]) -> None:
    torch.manual_seed(1)
    golden = golden_inference(None, kind().eval(), (torch.randn(3, 4),), {}, 0)
    assert "every run begins" in golden.facts["state"]
    run(golden.capture())


class Written(nn.Module):
    """Rows that gradients go through, in a buffer that the next call goes on with."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.place = nn.Linear(4, 4), 0
        self.register_buffer("rows", torch.zeros(8, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.rows[self.place : self.place + len(x)] = self.layer(x)
        self.place += len(x)
        return self.rows[: self.place] * 2


@pytest.mark.parametrize("kind", [Attribute, Counter, Written])
def test_training_begins_as_the_golden_run_did(kind: type[nn.Module]) -> None:
    torch.manual_seed(1)
    golden = golden_training(Loader, kind().train(), (torch.randn(3, 4),), {}, 0)
    assert "every run begins" in golden.facts["state"]
    run(golden.capture())


def test_what_a_model_prepares_once_is_left_to_it() -> None:
    model = Table().eval()
    golden = golden_inference(None, model, (torch.randn(3, 4),), {}, 0)
    assert "state" not in golden.facts and isinstance(model.table, torch.Tensor)
    run(golden.capture())
    assert model.made == 1


class Asking(Table):
    """Goes another way where no gradient is wanted."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * (1 if torch.is_grad_enabled() else 2)


class WithGradient:
    """Takes the first tensor that has a gradient."""

    @staticmethod
    def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
        return next(one for one in (output,) if one.requires_grad)


def test_training_is_tried_again_with_gradients() -> None:
    model = Asking().train()
    golden = golden_training(WithGradient, model, (torch.randn(3, 4),), {}, 0)
    assert "state" not in golden.facts and model.made == 1
    assert golden.capture().graphs


class Expanded(nn.Module):
    """Prepares a table whose rows lie in one place."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.table, self.seen = nn.Linear(4, 4), None, torch.zeros(4).expand(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.table is None:
            self.table = torch.arange(4.0).expand(3, 4)
        return self.layer(x) * self.table


def test_elements_that_lie_in_one_place_are_put_back() -> None:
    golden = golden_inference(None, Expanded().eval(), (torch.randn(3, 4),), {}, 0)
    run(golden.capture())
    model = Expanded()
    state = ModelState(model)
    model.seen[:, 1:2].select(0, 0).fill_(3)
    assert not state.is_as_it_was()
    state.put_back()
    assert torch.equal(model.seen, torch.zeros(3, 4))


class Writes(nn.Module):
    def __init__(self, lowest: float) -> None:
        super().__init__()
        self.layer, self.lowest = nn.Linear(4, 4), lowest

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.layer.weight.sub_(0.5).clamp_(self.lowest, 0.0)
        return self.layer(x)


def test_weights_that_are_written_to_are_no_fault_of_a_device() -> None:
    with pytest.raises(LoaderError, match="writes to its weights \\('layer.weight'\\)") as told:
        golden_inference(None, Writes(-9.0).eval(), (torch.randn(3, 4),), {}, 0)
    assert told.value.kind == "not_captured"
    run(golden_inference(None, Writes(0.0).eval(), (torch.randn(3, 4),), {}, 0).capture())  # The same after each call.


def test_layers_without_sizes_get_them_in_the_first_run() -> None:
    run(golden_inference(None, nn.Sequential(nn.LazyLinear(5), nn.ReLU()).eval(), (torch.randn(3, 4),), {}, 0).capture())


class Draws(nn.Module):
    """Noise of a generator of its own, and of one that it is called with."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.own = nn.Linear(4, 4), torch.Generator().manual_seed(1)

    def forward(self, x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return self.layer(x) + torch.randn(x.shape, generator=self.own) + torch.rand(x.shape, generator=generator)


def test_generators_begin_each_run_where_they_began_the_first() -> None:
    torch.manual_seed(0)
    arguments = (torch.randn(3, 4), torch.Generator().manual_seed(2))
    run(golden_inference(None, Draws().eval(), arguments, {}, 0).capture())
    run(golden_training(Loader(), Draws().train(), arguments, {}, 0).capture())


class HalfUsed(nn.Module):
    """Lazy layers, one of which no run goes through."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.unused = nn.LazyLinear(5), nn.LazyBatchNorm1d(), nn.LazyBatchNorm1d()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.layer(x))


def test_a_lazy_layer_that_no_run_goes_through_is_left_out() -> None:
    torch.manual_seed(0)
    run(golden_inference(None, HalfUsed().eval(), (torch.randn(3, 4),), {}, 0).capture())
    golden = golden_training(Loader(), HalfUsed().train(), (torch.randn(3, 4),), {}, 0)
    assert len(golden.expected) == 5, "the gradients of the layer and the norm, and the output"
    run(golden.capture())


def test_models_of_torchscript_have_state_too() -> None:
    model = torch.jit.script(Buffer())
    golden = golden_inference(None, model.eval(), (torch.randn(3, 4),), {}, 0)
    assert golden.facts["state"]
    capture = golden.capture()
    run(capture)
    assert capture.method == "trace" and not capture.outside


class Arrays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> object:
        y = self.layer(x)
        yield y.detach().numpy()
        yield y.detach().numpy() + 1


def test_results_of_a_generator_of_arrays_are_those_of_the_calls_behind_them() -> None:
    golden = golden_inference(None, Arrays().eval(), (torch.randn(3, 4),), {}, 0)
    assert golden.result_names == ["0", "1"] and golden.facts["output"] == "tuple (numpy float32[3x4], numpy float32[3x4])"
    run(golden.capture())


TICKS = itertools.count(1)


class Clock(nn.Linear):
    """Goes by something that is no part of it, and that no seed reaches."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + 3.0 ** next(TICKS)


def test_a_model_that_is_another_one_each_time_is_found_out() -> None:
    golden = golden_inference(None, Clock(4, 4).eval(), (torch.randn(3, 4),), {}, 0)
    assert golden.differs_again().startswith("result 0 is off by")
    golden = golden_training(Loader, Clock(4, 4).train(), (torch.randn(3, 4),), {}, 0)
    assert golden.differs_again().startswith("result 0 is off by")
    assert not golden_inference(None, Buffer().eval(), (torch.randn(3, 4),), {}, 0).differs_again(), "it begins as the first run did"
    assert not golden_training(Loader, nn.Sequential(nn.Linear(4, 4), nn.Dropout()).train(), (torch.randn(3, 4),), {}, 0).differs_again()


def test_floats_of_8_bits_are_results() -> None:
    golden = golden_inference(None, nn.Identity(), (torch.ones(3).to(torch.float8_e4m3fn),), {}, 0)
    assert golden.facts["finite"] is True and golden.expected[0].dtype is torch.float8_e4m3fn


def test_state_is_put_back_where_it_was() -> None:
    model = Counter()
    model.extra = {"a": [torch.ones(2)], "b": (1, 2)}
    state = ModelState(model)
    kept = model.extra
    assert state.is_as_it_was()
    model.calls, model.new = 7, torch.ones(1)
    model.extra["a"][0].add_(1)
    model.extra["a"].append(3)
    model.extra["c"] = 1
    assert not state.is_as_it_was()
    state.put_back()
    assert state.is_as_it_was() and model.extra is kept and not hasattr(model, "new")
    assert torch.equal(kept["a"][0], torch.ones(2)) and len(kept["a"]) == 1 and set(kept) == {"a", "b"} and model.calls == 0


def test_bits_are_compared() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert same_bits(nan, nan.clone()) and not same_bits(torch.tensor(0.0), torch.tensor(-0.0)) and not same_bits(nan, nan.double())
    assert same_bits(torch.tensor(True), torch.tensor(True)) and same_bits(torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64))


def test_positions_that_are_padding_are_computed_on_both_sides() -> None:
    """torch's shorter way through encoder layers gives zeros there, and graphs do not."""
    torch.manual_seed(1)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
    x, mask = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False, True, True]])
    with plain_encoders():
        golden = golden_inference(None, model, (x,), {"src_key_padding_mask": mask}, 0)
        result = capture(golden.flat, golden.expected, 0)
    assert bool(golden.expected[0][1, 2].any())
    run(result)
