"""Operators that a model brings along: what Python computes is taken apart, and others are named as what stops the model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cupel._native import NativeError
from cupel.torch.captured import capture
from cupel.worker.model_golden import golden_inference, golden_training
from test_captured import Loader
from test_traced import run

_LIBRARY = torch.library.Library("cupel_tests", "DEF")
_LIBRARY.define("halved(Tensor x) -> Tensor")
_LIBRARY.impl("halved", lambda x: x / 2, "CPU")
_LIBRARY.impl("halved", torch.empty_like, "Meta")


@torch.library.custom_op("cupel_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.tanh(x) * factor


@scaled.register_fake
def _(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.empty_like(x)


scaled.register_autograd(lambda ctx, gradient: (gradient * ctx.factor * (1 - torch.tanh(ctx.saved_tensors[0]) ** 2), None),
                         setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]), setattr(ctx, "factor", inputs[1])))


@torch.library.custom_op("cupel_tests::by_value", mutates_args=())
def by_value(x: torch.Tensor) -> torch.Tensor:
    return x * 3 if float(x.sum()) > 0 else x + 1


@by_value.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Calls(nn.Module):
    def __init__(self, operator: object, *more: float) -> None:
        super().__init__()
        self.layer, self.operator, self.more = nn.Linear(4, 4), operator, more

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operator(self.layer(x), *self.more) + 1


def test_what_python_computes_is_the_programs() -> None:
    golden = golden_inference(None, Calls(torch.ops.cupel_tests.scaled, 2.5), (torch.randn(3, 4),), {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == "export" and not made.outside
    run(made)


def test_its_gradient_too() -> None:
    golden = golden_training(Loader(), Calls(torch.ops.cupel_tests.scaled, 2.5).train(), (torch.randn(3, 4),), {}, 0)
    made = golden.capture()
    assert made.method == "export" and not made.outside
    run(made)


def test_what_decides_by_values_is_traced() -> None:
    golden = golden_inference(None, Calls(torch.ops.cupel_tests.by_value), (torch.randn(3, 4),), {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == "trace" and not made.outside, (made.method, made.outside, made.refusal)
    run(made)


def test_what_others_compute_stops_the_model() -> None:
    """Left to torch, it would pass by what is beside it."""
    golden = golden_inference(None, Calls(torch.ops.cupel_tests.halved), (torch.randn(3, 4),), {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == "export" and not made.outside, (made.method, made.outside)
    with pytest.raises(NativeError, match="cupel_tests.halved.default: is unknown"):
        run(made)
