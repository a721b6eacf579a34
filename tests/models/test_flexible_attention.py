"""flex_attention in models: a program of calls that a device computes."""

from __future__ import annotations

import pytest
import torch
from test_captured import operators
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from cupel.torch.captured import capture
from cupel.worker.model_golden import golden_inference


class Attention(nn.Module):
    """Causal, with a slope that is a weight: the functions read tensors of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(16, 48)
        self.slope = nn.Parameter(torch.tensor([0.5, 0.25]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, x.shape[1], x.shape[1], device="cpu")
        return flex_attention(query, key, value, score_mod=lambda score, b, h, q, k: score - self.slope[h] * (q - k), block_mask=mask)


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return Attention()


def test_it_is_calls_that_a_device_computes(model: nn.Module) -> None:
    golden = golden_inference(None, model, (torch.randn(2, 6, 16),), {}, 0)
    made = capture(golden.flat, golden.expected)
    assert made.method == "export" and len(made.graphs) == 1
    found = operators(made.graphs[0])
    assert any("softmax" in name for name in found) and not any("flex" in name for name in found), found


def test_torch_has_its_operator_back(model: nn.Module) -> None:
    before = torch.ops.higher_order.flex_attention.__class__.__call__
    golden = golden_inference(None, model, (torch.randn(1, 4, 16),), {}, 0)
    capture(golden.flat, golden.expected)
    assert torch.ops.higher_order.flex_attention.__class__.__call__ is before
