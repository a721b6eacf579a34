"""Exports small models of the usual kinds, as they are and decomposed to core ATen, and compares Cupel's results with torch's.

usage: .venv/bin/python tests/torch/check_models.py [--worker build/bin/cupel-worker] [--folder FOLDER] [-k NAME...] [--export-only]

Weights are random (one seed); results must agree within 1e-4, relative and absolute. What was exported stays in FOLDER if one is
given: NAME.pt2 with NAME.inputs.safetensors, NAME.expected.safetensors and NAME.case.json, which `cupel-worker pt2-cases` runs.
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

TOLERANCE = 1e-4
LINE = re.compile(r"^(PASSED|FAILED|REFUSED\([^)]*\)) (\S+?)(?:: (.*))?$")
Case = tuple[nn.Module, tuple[Any, ...]]
MODELS: dict[str, Callable[[], Case]] = {}


def model(make: Callable[[], Case]) -> Callable[[], Case]:
    """Makes a function's model one of those checked, under the function's name."""
    MODELS[make.__name__] = make
    return make


@model
def mlp() -> Case:
    layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 10),
                           nn.Softmax(dim=-1))
    return layers, (torch.randn(4, 16),)


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.first(x)), inplace=True)
        return F.relu(self.norm2(self.second(y)) + self.short(x))


@model
def resnet() -> Case:
    layers = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
                           Residual(8, 8, 1), Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    for module in layers.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2)
    return layers, (torch.randn(2, 3, 32, 32),)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


@model
def depthwise_cnn() -> Case:
    layers = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), nn.Conv2d(8, 32, 1), nn.BatchNorm2d(32), nn.ReLU6(),
                           nn.Conv2d(32, 32, 5, padding="same", groups=32), nn.BatchNorm2d(32), nn.Hardswish(), SqueezeExcite(32),
                           nn.Conv2d(32, 16, 1), nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False), nn.Flatten(),
                           nn.Linear(16 * 25, 5))
    return layers, (torch.randn(2, 3, 20, 20),)


class Only(nn.Module):
    """A transformers model that gives one of its outputs."""

    def __init__(self, inner: nn.Module, output: str, **fixed: Any) -> None:
        super().__init__()
        self.inner, self.output, self.fixed = inner, output, fixed

    def forward(self, *args: Tensor) -> Tensor:
        return getattr(self.inner(*args, **self.fixed), self.output)


@model
def bert() -> Case:
    import transformers

    config = transformers.BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                                     max_position_embeddings=32)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    return Only(transformers.BertModel(config), "last_hidden_state"), (torch.randint(0, 100, (2, 12)), mask)


class CachedAttention(nn.Module):
    """Causal attention of one new token to those kept from before; the cache is written in place."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
        batch, count, _ = x.shape
        q, k, v = (part.view(batch, count, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).split(self.width, dim=-1))
        keys[:, :, at] = k
        values[:, :, at] = v
        allowed = torch.arange(keys.shape[2])[None, :] <= at[:, None]
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=allowed)
        x = x + self.out(y.transpose(1, 2).reshape(batch, count, -1))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class CachedGpt(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, length: int = 16) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(100, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(CachedAttention(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor, at: Tensor, caches: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, list[Tensor]]:
        x = self.tokens(tokens) + self.places(at)
        written = []
        for layer, (keys, values) in zip(self.layers, caches, strict=True):
            keys, values = keys.clone(), values.clone()
            x = layer(x, keys, values, at)
            written += [keys, values]
        return self.head(self.norm(x)), written


@model
def gpt_with_cache() -> Case:
    caches = [(torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8)) for _ in range(2)]
    return CachedGpt(), (torch.randint(0, 100, (2, 3)), torch.tensor([5, 6, 7]), caches)


@model
def llama() -> Case:
    import transformers

    config = transformers.LlamaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                      intermediate_size=64, max_position_embeddings=64, use_cache=False)
    return Only(transformers.LlamaForCausalLM(config), "logits", use_cache=False), (torch.randint(0, 100, (2, 10)),)


@model
def vit() -> Case:
    import transformers

    config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
                                    patch_size=8)
    return Only(transformers.ViTModel(config), "last_hidden_state"), (torch.randn(2, 3, 32, 32),)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 12)
        self.layers = kind(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 7)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Any]:
        y, state = self.layers(self.tokens(tokens))
        return F.log_softmax(self.head(y), dim=-1), state


@model
def lstm() -> Case:
    return Recurrent(nn.LSTM), (torch.randint(0, 50, (3, 20)),)


@model
def gru() -> Case:
    return Recurrent(nn.GRU), (torch.randint(0, 50, (3, 5)),)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        twice = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.2),  # noqa: E731
                                           nn.Conv2d(o, o, 3, padding=1), nn.ReLU())
        self.down1, self.down2, self.bottom = twice(3, 8), twice(8, 16), twice(16, 32)
        self.up2, self.join2 = nn.ConvTranspose2d(32, 16, 2, 2), twice(32, 16)
        self.join1, self.out = twice(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.join2(torch.cat([self.up2(self.bottom(F.max_pool2d(b, 2))), b], dim=1))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.out(self.join1(torch.cat([y, a], dim=1))))


@model
def unet() -> Case:
    return UNet(), (torch.randn(1, 3, 16, 16),)


class DiffusionBlock(nn.Module):
    """A residual block told the time, then attention over pixels, then twice the size."""

    def __init__(self, channels: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.conv1 = nn.GroupNorm(8, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 2 * channels))
        self.norm2, self.conv2 = nn.GroupNorm(8, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.norm3, self.qkv = nn.GroupNorm(8, channels), nn.Conv2d(channels, 3 * channels, 1)
        self.out, self.up = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        rates = torch.exp(-math.log(10000) * torch.arange(8, dtype=torch.float32) / 8)
        angles = time[:, None].float() * rates[None]
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))[:, :, None, None].chunk(2, dim=1)
        y = self.conv1(F.silu(self.norm1(x)))
        y = x + self.conv2(F.silu(self.norm2(y) * (1 + scale) + shift))
        batch, channels, height, width = y.shape
        q, k, v = self.qkv(self.norm3(y)).reshape(batch, 3 * self.heads, -1, height * width).transpose(2, 3).chunk(3, dim=1)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(batch, channels, height, width)
        return self.up(F.interpolate(y + self.out(attended), scale_factor=2.0, mode="nearest"))


@model
def diffusion_block() -> Case:
    return DiffusionBlock(), (torch.randn(2, 32, 8, 8), torch.tensor([3, 500]))


class Experts(nn.Module):
    """Each token goes to the best two of its experts."""

    def __init__(self, width: int = 16, experts: int = 4, best: int = 2) -> None:
        super().__init__()
        self.best = best
        self.norm, self.router = nn.RMSNorm(width), nn.Linear(width, experts, bias=False)
        self.gate = nn.Parameter(torch.randn(experts, width, 2 * width) / 4)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / 4)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) / 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        flat = self.norm(x).flatten(0, 1)
        chances = self.router(flat).softmax(dim=-1)
        best, which = chances.topk(self.best, dim=-1)
        share = torch.zeros_like(chances).scatter_(1, which, best / best.sum(dim=-1, keepdim=True))
        hidden = F.silu(torch.einsum("tw,ewh->eth", flat, self.gate)) * torch.einsum("tw,ewh->eth", flat, self.up)
        y = torch.einsum("eth,ehw,te->tw", hidden, self.down, share)
        load = F.one_hot(which, chances.shape[-1]).sum(dim=(0, 1))
        return x + y.view_as(x), load


@model
def mixture_of_experts() -> Case:
    return Experts(), (torch.randn(2, 6, 16),)


def export(name: str, folder: Path, decompose: bool) -> Path:
    """Writes the case and returns its program."""
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    module.eval()
    with torch.no_grad():
        expected = module(*pytree.tree_map_only(torch.Tensor, torch.clone, inputs))
        program = torch.export.export(module, inputs, strict=False)
        if decompose:
            program = program.run_decompositions()
    stem = folder / (name + ("-core" if decompose else ""))
    torch.export.save(program, f"{stem}.pt2")
    for part, value in (("inputs", inputs), ("expected", expected)):
        leaves = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor)]
        safetensors.torch.save_file({str(i): leaf.contiguous().clone() for i, leaf in enumerate(leaves)}, f"{stem}.{part}.safetensors")
    Path(f"{stem}.case.json").write_text(json.dumps({"rtol": TOLERANCE, "atol": TOLERANCE}) + "\n")
    return Path(f"{stem}.pt2")


def run(worker: Path, program: Path) -> tuple[bool, str]:
    try:
        done = subprocess.run([worker, "pt2-cases", program], capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return False, "does not end"
    for line in done.stdout.splitlines():
        if match := LINE.match(line):
            return match[1] == "PASSED", match[3] or match[1]
    return False, f"ended with {done.returncode}: {done.stderr.strip()[-300:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=Path, default=Path("build/bin/cupel-worker"))
    parser.add_argument("--folder", type=Path, help="where exported models stay")
    parser.add_argument("-k", action="append", metavar="NAME", help="only this model")
    parser.add_argument("--export-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.k or [] if name not in MODELS]:
        parser.error(f"unknown model {unknown[0]}; there are {', '.join(MODELS)}")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.k or MODELS:
            for decompose in (False, True):
                label = name + (", decomposed" if decompose else "")
                try:
                    program = export(name, folder, decompose)
                except Exception as error:  # noqa: BLE001: whatever torch says is why the check fails
                    ok, message = False, f"torch cannot export it: {type(error).__name__}: {error}"
                else:
                    ok, message = (True, "exported") if options.export_only else run(options.worker, program)
                passed, failed = passed + ok, failed + (not ok)
                print(f"{'ok' if ok else 'FAILED'}: {label}{'' if ok else ': ' + message}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
