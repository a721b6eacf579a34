"""Layers that several models here are made of."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class Attention(nn.Module):
    """Multi-head attention over `context`, or over its own input."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def forward(self, x: torch.Tensor, context: torch.Tensor | None = None, mask: torch.Tensor | None = None, is_causal: bool = False) -> torch.Tensor:
        context = x if context is None else context
        mixed = nn.functional.scaled_dot_product_attention(self.split(self.query(x)), self.split(self.key(context)), self.split(self.value(context)), mask, is_causal=is_causal)
        return self.output(mixed.transpose(-3, -2).flatten(-2))


class EncoderBlock(nn.Module):
    """Attention and a feed-forward network, each after a norm and added to what came in."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, is_causal: bool = False) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), mask=mask, is_causal=is_causal)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class RMSNorm(nn.Module):
    def __init__(self, width: int, epsilon: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(x.dtype) * self.weight


def encoder_shard_spec(blocks: Iterable[EncoderBlock]) -> dict[nn.Parameter, tuple[str | None, ...]]:
    """Projections into heads and feed-forward networks split by rows over the axis `model`, those out of them by columns."""
    specs: dict[nn.Parameter, tuple[str | None, ...]] = {}
    for block in blocks:
        attention = block.attention
        for layer in (attention.query, attention.key, attention.value, block.up):
            specs |= {layer.weight: ("model", None), layer.bias: ("model",)}
        specs |= {layer.weight: (None, "model") for layer in (attention.output, block.down)}
    return specs


def two_rows(num_devices: int) -> tuple[tuple[int, int], tuple[str, str]]:
    """A mesh with two rows where there are that many devices."""
    return ((2, num_devices // 2) if num_devices >= 4 else (1, num_devices)), ("batch", "model")
