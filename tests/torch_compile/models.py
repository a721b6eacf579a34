"""Small models with random weights, each with inputs: what torch.compile must run forward and backward."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).log_softmax(-1)


class Residual(nn.Module):
    """Convolutions, batch norm in training mode, pooling, a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.body = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm1(self.stem(x)))
        x = torch.relu(x + self.norm2(self.body(x)))
        x = nn.functional.max_pool2d(x, 2)
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Encoder(nn.Module):
    """Token and position embeddings and one transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(16, 20)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.block(x))


class RmsNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """RMSNorm, rotary positions, causal attention with grouped heads, SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = RmsNorm(16), RmsNorm(16)
        self.q, self.k, self.v, self.o = (nn.Linear(16, n, bias=False) for n in (16, 8, 8, 16))
        self.gate, self.up, self.down = nn.Linear(16, 24, bias=False), nn.Linear(16, 24, bias=False), nn.Linear(24, 16, bias=False)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[-2])[:, None] / 100.0 ** (torch.arange(half) / half)
        cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        h = self.norm1(x)
        heads = lambda t, n: t.view(batch, length, n, 4).transpose(1, 2)  # noqa: E731
        q, k, v = heads(self.q(h), 4), heads(self.k(h), 2), heads(self.v(h), 2)
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        a = nn.functional.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(batch, length, 16))
        h = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "mlp": (Mlp, lambda: (torch.randn(6, 12),)),
    "residual": (Residual, lambda: (torch.randn(4, 3, 8, 8),)),
    "encoder": (Encoder, lambda: (torch.randint(0, 20, (2, 8)),)),
    "llama": (Llama, lambda: (torch.randn(2, 6, 16),)),
}
