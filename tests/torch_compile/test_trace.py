"""Recorded programs through torch.compile."""

from __future__ import annotations

import pytest
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))

    def forward(self, x):
        return self.layers(x).softmax(-1)


def test_replays_give_the_same_bits():
    model = Net().eval()
    results = []
    inputs = [torch.randn(3, 16) for _ in range(5)]
    for options in ({}, {"enable_trace": True}):
        torch._dynamo.reset()
        run = torch.compile(model, backend="cupel", fullgraph=True, options=options)
        with torch.no_grad():
            results.append([run(x) for x in inputs])
    for plain, traced, x in zip(*results, inputs, strict=True):
        assert torch.equal(plain, traced)
        torch.testing.assert_close(traced, model(x), rtol=1e-5, atol=1e-6)


def test_training_steps():
    losses = []
    for options in ({}, {"enable_trace": True}):
        torch.manual_seed(0)
        torch._dynamo.reset()
        model = Net()
        run, steps = torch.compile(model, backend="cupel", fullgraph=True, options=options), torch.optim.SGD(model.parameters(), 0.1)
        x, wanted, seen = torch.randn(8, 16), torch.randint(0, 4, (8,)), []
        for _ in range(5):
            loss = torch.nn.functional.nll_loss(run(x).log(), wanted)
            steps.zero_grad()
            loss.backward()
            steps.step()
            seen.append(loss.item())
        losses.append(seen)
    assert losses[0] == losses[1]
    assert losses[1][-1] < losses[1][0]


def test_a_name_that_is_nearly_right():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="did you mean 'enable_trace'"):
        torch.compile(torch.sin, backend="cupel", options={"enable_traces": True})(torch.ones(1))
