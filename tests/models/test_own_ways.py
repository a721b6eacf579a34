"""Models that go their own ways where graphs are made: backwards of their own, branches that torch compiles, seeds that they draw."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cupel.worker.model_golden import golden_inference, golden_training
from test_captured import Loader, run


class Signs(torch.autograd.Function):
    """Gradients go through as if it were not there."""

    @staticmethod
    def forward(context: object, x: torch.Tensor) -> torch.Tensor:
        return x.sign()

    @staticmethod
    def backward(context: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class OwnBackward(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(Signs.apply(super().forward(x)))


class Hooked(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
        return super().forward(y)


@pytest.mark.parametrize("make", [OwnBackward, Hooked])
def test_a_graph_without_the_models_own_backward_is_refused_where_it_is_compared(make: type[nn.Module]) -> None:
    torch.manual_seed(0)
    golden = golden_training(Loader, make(4, 4).train(), (torch.randn(6, 4),), {}, seed=0)
    made = golden.capture(True)
    assert made.method != "export" and "gradients are off by" in made.refusal, made.refusal
    expected = {name: tensor for name, tensor in zip(golden.result_names, golden.expected, strict=True)}
    found = [result for graph in made.graphs for result in run(graph)]
    for name in ("weight", "bias"):
        assert any(one.shape == expected[name].shape and torch.allclose(one, expected[name], rtol=1e-4, atol=1e-5) for one in found), name


class Branching(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, super().forward, lambda y: y - 1.0, (x,))


def test_the_branch_that_training_takes_is_its_graph() -> None:
    torch.manual_seed(0)
    golden = golden_training(Loader, Branching(4, 4).train(), (torch.rand(6, 4),), {}, seed=0)
    made = golden.capture()
    assert made.method == "trace" and not made.outside, made.refusal
    for actual, expected in zip(run(made.graphs[0]), golden.expected, strict=True):
        torch.testing.assert_close(actual, expected)


class Reseeds(nn.Linear):
    """As models that draw a seed of their own, to draw the same once more when they go back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.seed()
        return super().forward(x) + torch.rand(4)


def test_seeds_that_torch_draws_are_the_same_in_every_run() -> None:
    for make, model in ((golden_inference, Reseeds(4, 4).eval()), (golden_training, Reseeds(4, 4).train())):
        before = torch.seed
        golden = make(Loader, model, (torch.randn(2, 4),), {}, seed=0)
        assert not golden.differs_again() and torch.seed is before
        for graph in golden.capture(True).graphs:
            for actual, expected in zip(run(graph), graph.expected, strict=True):
                torch.testing.assert_close(actual, expected)
    assert torch.seed() != torch.seed()
