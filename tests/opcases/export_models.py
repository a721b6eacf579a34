"""Exports the two small models whose operator cases ship under zoo/ops: a convolutional network and a block in Llama's style.

usage: .venv/bin/python export_models.py FOLDER. Then `cupel ops extract FOLDER/NAME.pt2 -o zoo/ops/NAME.yaml` makes the case files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride != 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ConvNet(nn.Module):
    """A residual network with a depthwise stage and a squeeze-and-excite gate."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2))
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.pointwise = nn.Conv2d(32, 64, 1)
        self.squeeze = nn.Linear(64, 16)
        self.excite = nn.Linear(16, 64)
        self.classify = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.stem(x))
        x = F.hardswish(self.pointwise(F.silu(self.depthwise(x))))
        gate = torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean(dim=(2, 3))))))
        x = x * gate[:, :, None, None]
        x = F.dropout(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1), 0.1, self.training)
        return F.log_softmax(self.classify(x), dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * (x.float() * scale).to(x.dtype)


class LlamaBlock(nn.Module):
    """Embedding, rotary grouped-query attention with a causal mask, a gated feed-forward part, logits."""

    def __init__(self, width: int = 64, heads: int = 4, groups: int = 2, vocabulary: int = 256):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.norm1, self.norm2, self.norm3 = RMSNorm(width), RMSNorm(width), RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.logits = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("frequencies", 1.0 / (10000 ** (torch.arange(0, self.size, 2).float() / self.size)))

    def rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = x[..., : self.size // 2], x[..., self.size // 2:]
        return x * cos + torch.cat((-right, left), dim=-1) * sin

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = self.embed(tokens)
        y = self.norm1(x)
        q = self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        v = self.v(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        angles = torch.outer(torch.arange(length).float(), self.frequencies)
        cos, sin = (torch.cat((wave, wave), dim=-1).to(x.dtype) for wave in (angles.cos(), angles.sin()))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        k, v = (part.repeat_interleave(self.heads // self.groups, dim=1) for part in (k, v))
        mask = torch.full((length, length), float("-inf"), dtype=x.dtype).triu(1)
        weights = F.softmax(torch.matmul(q, k.transpose(2, 3)) / self.size**0.5 + mask, dim=-1, dtype=torch.float32).to(x.dtype)
        y = torch.matmul(weights, v).transpose(1, 2).contiguous().reshape(batch, length, -1)
        x = x + self.o(y)
        y = self.norm2(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.logits(self.norm3(x)[:, -1:, :]).float()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    models = {
        "convnet": (ConvNet().eval(), (torch.randn(2, 3, 32, 32),)),
        "llama-block": (LlamaBlock().eval().bfloat16(), (torch.randint(0, 256, (2, 12)),)),
    }
    for name, (model, inputs) in models.items():
        torch.export.save(torch.export.export(model, inputs), folder / f"{name}.pt2")


if __name__ == "__main__":
    main()
