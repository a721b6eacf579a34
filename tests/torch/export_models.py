"""Exports whole models with random weights as `.pt2` cases with torch's own results: plain modules, and `transformers` ones.

usage: .venv/bin/python tests/torch/export_models.py FOLDER [-k NAME...]

The layout is that of export_programs.py; tolerances are 1e-4.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))
import export_programs  # noqa: E402

CASES = export_programs.CASES
CASES.clear()
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


def model(function: Any) -> Any:
    def made() -> Any:
        torch.manual_seed(11)
        module, inputs, *rest = function()
        return module.eval(), inputs, {**TOLERANCE, **(rest[0] if rest else {})}

    CASES[function.__name__] = made
    return function


def r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def tokens(*shape: int, size: int = 100) -> torch.Tensor:
    return torch.randint(0, size, shape)


@model
def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(0.1), nn.Linear(64, 10), nn.Softmax(-1)), (r(8, 20),)


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)) if stride > 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        y += x if self.down is None else self.down(x)
        return F.relu(y, inplace=True)


@model
def resnet():
    return nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
                         Residual(16, 16, 1), Residual(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), (r(2, 3, 48, 48),)


@model
def depthwise_cnn():
    def block(inputs: int, outputs: int, stride: int) -> nn.Module:
        hidden = inputs * 4
        return nn.Sequential(nn.Conv2d(inputs, hidden, 1), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True),
                             nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden), nn.BatchNorm2d(hidden), nn.Hardswish(inplace=True),
                             nn.Conv2d(hidden, outputs, 1), nn.BatchNorm2d(outputs))

    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), block(8, 12, 2), block(12, 16, 1), nn.AvgPool2d(2), nn.Flatten(1), nn.Linear(256, 5)), \
        (r(2, 3, 32, 32),)


@model
def encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (r(2, 7, 32),)


@model
def lstm_classifier():
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm, self.head = nn.Embedding(100, 16, padding_idx=0), nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True), nn.Linear(48, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, (h, _) = self.lstm(self.embedding(x))
            return self.head(y.mean(1)) + self.head(torch.cat([h[-1], h[-2]], -1))

    return Classifier(), (tokens(3, 9),)


@model
def gru():
    return nn.GRU(6, 8, 2), (r(5, 2, 6),)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o), nn.LeakyReLU(0.1, inplace=True))  # noqa: E731
        self.a, self.b, self.c = conv(3, 8), conv(8, 16), conv(16, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.d, self.head = conv(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = F.interpolate(self.c(F.avg_pool2d(b, 2)), scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.d(torch.cat([a, self.up(b + c)], 1)))


@model
def unet():
    return UNet(), (r(1, 3, 16, 16),)


class DiffusionBlock(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(4, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2 * channels))
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        frequencies = torch.exp(torch.arange(16) * (-9.2 / 16))
        angles = t[:, None].float() * frequencies[None]
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], -1))[..., None, None].chunk(2, 1)
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift)) + x
        b, c, height, width = h.shape
        q, k, v = self.qkv(h).reshape(b, 3, 2, c // 2, height * width).permute(1, 0, 2, 4, 3).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v).permute(0, 1, 3, 2).reshape(b, c, height, width)
        return h + self.out(attended)


@model
def diffusion_block():
    return DiffusionBlock(), (r(2, 16, 8, 8), torch.tensor([3, 700]))


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.topk(F.softmax(self.gate(x), -1), 2)
        weights = weights / weights.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            y += expert(x) * (weights * (chosen == i)).sum(-1, keepdim=True)
        return y


@model
def mixture_of_experts():
    return Experts(), (r(10, 16),)


class Attention(nn.Module):
    """Rotary positions, grouped heads, and a cache that is written in place."""

    def __init__(self, heads: int = 4, groups: int = 2, size: int = 8, length: int = 16) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, size
        self.q, self.k, self.v = (nn.Linear(32, n * size, bias=False) for n in (heads, groups, groups))
        self.o = nn.Linear(heads * size, 32, bias=False)
        self.register_buffer("keys", torch.zeros(1, groups, length, size))
        self.register_buffer("values", torch.zeros(1, groups, length, size))
        angles = torch.outer(torch.arange(length).float(), 1 / 10000 ** (torch.arange(0, size, 2).float() / size))
        self.register_buffer("rotations", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def rotated(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.rotations[at]).flatten(-2)

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        split = lambda y, count: y.view(b, n, count, self.size).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.q(x), self.heads), split(self.k(x), self.groups), split(self.v(x), self.groups)
        self.keys[:, :, at] = self.rotated(k, at)
        self.values[:, :, at] = v
        mask = torch.arange(self.keys.shape[2])[None] <= at[:, None]
        y = F.scaled_dot_product_attention(self.rotated(q, at), self.keys, self.values, attn_mask=mask, enable_gqa=True)
        return self.o(y.transpose(1, 2).reshape(b, n, -1))


@model
def attention_with_cache():
    return Attention(), (r(1, 3, 32), torch.tensor([4, 5, 6]))


def from_transformers(name: str, config: str, values: dict[str, Any], inputs: Any) -> None:
    def made() -> Any:
        import transformers

        torch.manual_seed(11)
        settings = getattr(transformers, config)(**values)
        settings._attn_implementation = "sdpa"

        class Wrapped(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = getattr(transformers, name)(settings)

            def forward(self, *given: torch.Tensor) -> Any:
                outputs = self.inner(*given, use_cache=False) if "Causal" in name or "LMHead" in name else self.inner(*given)
                return outputs[0]

        return Wrapped().eval(), inputs(), dict(TOLERANCE)

    CASES[name] = made


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
from_transformers("BertModel", "BertConfig", {**SMALL, "max_position_embeddings": 32}, lambda: (tokens(2, 7), torch.tensor([[1] * 7, [1] * 5 + [0] * 2])))
from_transformers("GPT2LMHeadModel", "GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 32}, lambda: (tokens(2, 6),))
from_transformers("LlamaForCausalLM", "LlamaConfig", {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 32}, lambda: (tokens(1, 6),))
from_transformers("ViTModel", "ViTConfig", {k: v for k, v in SMALL.items() if k != "vocab_size"} | {"image_size": 16, "patch_size": 4}, lambda: (r(1, 3, 16, 16),))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", action="append", metavar="NAME", help="only models whose name contains this")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    failed = 0
    with torch.no_grad():
        for name in CASES:
            if options.k and not any(part in name for part in options.k):
                continue
            try:
                export_programs.export(name, options.folder)
            except Exception as error:  # noqa: BLE001: whatever the exporter says is shown
                failed += 1
                print(f"not exported: {name}: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}")
    print(f"{len(CASES)} models, {failed} not exported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
