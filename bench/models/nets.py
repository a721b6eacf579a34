"""The models of bench/models: architectures as published, weights from a seed, torch alone. A row is a function that gives a module and its inputs.

`TABLE` has the rows that goals are set for; `OTHERS` are models that no goal names and nobody tuned for: what the compiler makes of them is what
it makes of yours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Built, conv, seeded
from images import IMAGES

# ---- convolutions ---------------------------------------------------------------------------------------------------


class Bottleneck(nn.Module):
    def __init__(self, inner: int, width: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(conv(inner, width, act=nn.ReLU()), conv(width, width, 3, stride, act=nn.ReLU()), conv(width, 4 * width))
        self.skip = conv(inner, 4 * width, 1, stride) if stride > 1 or inner != 4 * width else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.skip(x))


@seeded
def resnet50() -> Built:
    layers: list[nn.Module] = [conv(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(depth):
            layers.append(Bottleneck(inner, width, 2 if i == 0 and width > 64 else 1))
            inner = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class InvertedResidual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int, expand: int):
        super().__init__()
        wide = inner * expand
        head = [conv(inner, wide, act=nn.ReLU6())] if expand > 1 else []
        self.body = nn.Sequential(*head, conv(wide, wide, 3, stride, wide, nn.ReLU6()), conv(wide, outer))
        self.adds = stride == 1 and inner == outer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.adds else self.body(x)


@seeded
def mobilenet_v2() -> Built:
    layers: list[nn.Module] = [conv(3, 32, 3, 2, act=nn.ReLU6())]
    inner = 32
    for expand, outer, depth, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(depth):
            layers.append(InvertedResidual(inner, outer, stride if i == 0 else 1, expand))
            inner = outer
    layers += [conv(320, 1280, act=nn.ReLU6()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int, reduced: int):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, reduced, 1), nn.Conv2d(reduced, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


class MBConv(nn.Module):
    def __init__(self, inner: int, outer: int, size: int, stride: int, expand: int):
        super().__init__()
        wide = inner * expand
        head = [conv(inner, wide, act=nn.SiLU())] if expand > 1 else []
        self.body = nn.Sequential(*head, conv(wide, wide, size, stride, wide, nn.SiLU()), SqueezeExcite(wide, max(1, inner // 4)), conv(wide, outer))
        self.adds = stride == 1 and inner == outer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.adds else self.body(x)


@seeded
def efficientnet() -> Built:
    """B0's plan: swish, squeeze and excite, kernels of 5."""
    layers: list[nn.Module] = [conv(3, 32, 3, 2, act=nn.SiLU())]
    inner = 32
    for expand, outer, depth, stride, size in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for i in range(depth):
            layers.append(MBConv(inner, outer, size, stride if i == 0 else 1, expand))
            inner = outer
    layers += [conv(320, 1280, act=nn.SiLU()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class ChannelNorm(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm, self.up, self.down = nn.LayerNorm(channels, eps=1e-6), nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


@seeded
def convnext() -> Built:
    layers: list[nn.Module] = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)]
    widths = (96, 192, 384, 768)
    for i, (width, depth) in enumerate(zip(widths, (3, 3, 9, 3))):
        if i:
            layers += [ChannelNorm(widths[i - 1]), nn.Conv2d(widths[i - 1], width, 2, 2)]
        layers += [ConvNextBlock(width) for _ in range(depth)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768), nn.Linear(768, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class UNet(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (32, 64, 128, 256)):
        super().__init__()

        def double(inner: int, outer: int) -> nn.Sequential:
            return nn.Sequential(conv(inner, outer, 3, act=nn.ReLU()), conv(outer, outer, 3, act=nn.ReLU()))

        self.down = nn.ModuleList([double(a, b) for a, b in zip((3, *widths[:-1]), widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths[:-1], widths[1:])])
        self.join = nn.ModuleList([double(2 * a, a) for a in widths[:-1]])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.join[i](torch.cat([kept[i], self.up[i](x)], 1))
        return self.head(x)


@seeded
def unet() -> Built:
    return UNet(), (torch.randn(1, 3, 128, 128),)


# ---- transformers ---------------------------------------------------------------------------------------------------


def heads(x: torch.Tensor, count: int) -> torch.Tensor:
    return x.view(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def joined(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class Attention(nn.Module):
    def __init__(self, width: int, count: int, fused: bool = False, bias: bool = True):
        super().__init__()
        self.count, self.fused = count, fused
        self.qkv = nn.Linear(width, 3 * width, bias=bias) if fused else nn.ModuleList([nn.Linear(width, width, bias=bias) for _ in range(3)])
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, causal: bool = False) -> torch.Tensor:
        parts = self.qkv(x).chunk(3, -1) if self.fused else [layer(x) for layer in self.qkv]
        q, k, v = (heads(part, self.count) for part in parts)
        return self.out(joined(F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)))


class PostNormLayer(nn.Module):
    def __init__(self, width: int, count: int):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, count), nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, width: int = 768, count: int = 12, depth: int = 12, vocabulary: int = 30522, positions: int = 512):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(vocabulary, width), nn.Embedding(positions, width), nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList([PostNormLayer(width, count) for _ in range(depth)])
        self.pool = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        mask = (1.0 - seen[:, None, None, :].to(x.dtype)) * -1e9
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pool(x[:, 0]))


@seeded
def bert_base_s128() -> Built:
    return Bert(), (torch.randint(0, 30522, (1, 128)), (torch.arange(128) < 120).long()[None])


class PreNormLayer(nn.Module):
    def __init__(self, width: int, count: int, approximate: str, fused: bool = True):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, count, fused), nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down, self.approximate = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), approximate

    def forward(self, x: torch.Tensor, causal: bool) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), causal=causal)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate=self.approximate))


class Gpt2(nn.Module):
    def __init__(self, width: int = 768, count: int = 12, depth: int = 12, vocabulary: int = 50257, positions: int = 1024):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.layers = nn.ModuleList([PreNormLayer(width, count, "tanh") for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x, True)
        return F.linear(self.norm(x), self.words.weight)


@seeded
def gpt2_s64() -> Built:
    return Gpt2(), (torch.randint(0, 50257, (1, 64)),)


class RmsNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine


class LlamaLayer(nn.Module):
    def __init__(self, width: int, count: int, shared: int, wide: int):
        super().__init__()
        self.count, self.shared = count, shared
        size = width // count
        self.q, self.k, self.v = (nn.Linear(width, n * size, bias=False) for n in (count, shared, shared))
        self.out, self.norm1, self.norm2 = nn.Linear(width, width, bias=False), RmsNorm(width), RmsNorm(width)
        self.gate, self.up, self.down = nn.Linear(width, wide, bias=False), nn.Linear(width, wide, bias=False), nn.Linear(wide, width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        q, k, v = heads(self.q(y), self.count), heads(self.k(y), self.shared), heads(self.v(y), self.shared)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        if self.shared != self.count:
            k, v = (one.repeat_interleave(self.count // self.shared, 1) for one in (k, v))
        x = x + self.out(joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width: int = 512, count: int = 8, shared: int = 4, depth: int = 4, vocabulary: int = 32000, length: int = 128):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(vocabulary, width), RmsNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.layers = nn.ModuleList([LlamaLayer(width, count, shared, 1408) for _ in range(depth)])
        size = width // count
        angles = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("cosine", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sine", torch.cat([angles, angles], -1).sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return self.head(self.norm(x))


@seeded
def llama4x512_s128() -> Built:
    return Llama(), (torch.randint(0, 32000, (1, 128)),)


class Vit(nn.Module):
    def __init__(self, width: int = 192, count: int = 3, depth: int = 12):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first, self.places = nn.Parameter(torch.randn(1, 1, width) * 0.02), nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.layers = nn.ModuleList([PreNormLayer(width, count, "none") for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x, False)
        return self.head(self.norm(x)[:, 0])


@seeded
def vit_tiny() -> Built:
    return Vit(), (torch.randn(1, 3, 224, 224),)


class T5Attention(nn.Module):
    def __init__(self, width: int, count: int):
        super().__init__()
        self.count = count
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor, memory: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        q, k, v = heads(self.q(x), self.count), heads(self.k(memory), self.count), heads(self.v(memory), self.count)
        scores = torch.matmul(q, k.transpose(-1, -2))  # T5 does not scale
        scores = scores if bias is None else scores + bias
        return self.out(joined(torch.matmul(torch.softmax(scores, -1), v)))


class T5Layer(nn.Module):
    def __init__(self, width: int, count: int, crosses: bool):
        super().__init__()
        self.own, self.norm1 = T5Attention(width, count), RmsNorm(width)
        self.cross, self.norm2 = (T5Attention(width, count), RmsNorm(width)) if crosses else (None, None)
        self.norm3, self.up, self.down = RmsNorm(width), nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor, bias: torch.Tensor, memory: torch.Tensor | None = None) -> torch.Tensor:
        y = self.norm1(x)
        x = x + self.own(y, y, bias)
        if self.cross is not None:
            x = x + self.cross(self.norm2(x), memory, None)
        return x + self.down(F.relu(self.up(self.norm3(x))))


class T5(nn.Module):
    """Encoder and decoder with biases by relative position, as T5-small."""

    def __init__(self, width: int = 512, count: int = 8, depth: int = 6, vocabulary: int = 32128):
        super().__init__()
        self.words, self.count = nn.Embedding(vocabulary, width), count
        self.encoder = nn.ModuleList([T5Layer(width, count, False) for _ in range(depth)])
        self.decoder = nn.ModuleList([T5Layer(width, count, True) for _ in range(depth)])
        self.near, self.past = nn.Embedding(32, count), nn.Embedding(32, count)
        self.norm1, self.norm2, self.head = RmsNorm(width), RmsNorm(width), nn.Linear(width, vocabulary, bias=False)

    @staticmethod
    def bucket(length: int, both: bool) -> torch.Tensor:
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        count = 16 if both else 32
        side = (distance > 0).long() * count if both else torch.zeros_like(distance)
        far = distance.abs() if both else (-distance).clamp(min=0)
        exact = count // 2
        log = exact + (torch.log(far.clamp(min=1).float() / exact) / math.log(128 / exact) * (count - exact)).long()
        return side + torch.where(far < exact, far, log.clamp(max=count - 1))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        bias = self.near(self.bucket(source.shape[1], True)).permute(2, 0, 1)[None]
        x = self.words(source)
        for layer in self.encoder:
            x = layer(x, bias)
        memory, length = self.norm1(x), target.shape[1]
        bias = self.past(self.bucket(length, False)).permute(2, 0, 1)[None] + torch.full((length, length), -1e9).triu(1)
        y = self.words(target)
        for layer in self.decoder:
            y = layer(y, bias, memory)
        return self.head(self.norm2(y))


@seeded
def t5_small() -> Built:
    return T5(), (torch.randint(0, 32128, (1, 64)), torch.randint(0, 32128, (1, 32)))


# ---- recurrent, small, single operations ----------------------------------------------------------------------------


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells, self.head = nn.Embedding(10000, 256), nn.LSTM(256, 512, 2, batch_first=True), nn.Linear(512, 10000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(self.words(tokens))[0][:, -1])


@seeded
def lstm() -> Built:
    return Lstm(), (torch.randint(0, 10000, (4, 32)),)


class GraphNet(nn.Module):
    """Messages along edges, weighed by a gate of one number, summed at their ends."""

    def __init__(self, width: int = 64, depth: int = 3):
        super().__init__()
        self.layers, self.gate = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(depth)]), nn.Linear(2 * width, 1)

    def forward(self, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            messages = x[source] * torch.sigmoid(self.gate(torch.cat([x[source], x[target]], -1)))
            x = F.relu(layer(torch.cat([x, torch.zeros_like(x).index_add(0, target, messages)], -1)))
        return x.mean(0)


@seeded
def graph_net() -> Built:
    return GraphNet(), (torch.randn(2000, 64), torch.randint(0, 2000, (16000,)), torch.randint(0, 2000, (16000,)))


@seeded
def gather_elements() -> Built:
    return Apply(lambda x, places: x.gather(1, places)), (torch.randn(512, 2048), torch.randint(0, 2048, (512, 512)))


@seeded
def scatter_add() -> Built:
    return Apply(lambda x, places, updates: x.scatter_add(0, places, updates)), (torch.randn(2000, 64), torch.randint(0, 2000, (8000, 64)), torch.randn(8000, 64))


class GruCells(nn.Module):
    """Steps of a recurrence written out: a row times a matrix and a small map, fifty times."""

    def __init__(self, inner: int = 64, width: int = 128, steps: int = 50):
        super().__init__()
        self.width, self.steps, self.given, self.kept = width, steps, nn.Linear(inner, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, given = torch.zeros(x.shape[0], self.width), self.given(x)
        for step in range(self.steps):
            (r, z, n), (s, u, m) = given[:, step].chunk(3, -1), self.kept(hidden).chunk(3, -1)
            fresh = torch.tanh(n + torch.sigmoid(r + s) * m)
            hidden = fresh + torch.sigmoid(z + u) * (hidden - fresh)
        return hidden


@seeded
def gru_cells() -> Built:
    return GruCells(), (torch.randn(1, 50, 64),)


@seeded
def volumes() -> Built:
    net = nn.Sequential(nn.Conv3d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 10))
    return net, (torch.randn(1, 3, 8, 56, 56),)


@seeded
def mlp() -> Built:
    return nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)), (torch.randn(32, 1024),)


class Apply(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(*arguments)


def operation(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Built]:
    @seeded
    def build() -> Built:
        return Apply(function), tuple(torch.randn(shape) for shape in shapes)

    build.__name__ = name
    return build


# ---- training -------------------------------------------------------------------------------------------------------


def training_step(net: nn.Module, x: torch.Tensor, classes: int) -> Built:
    """Loss and all gradients as one graph over (weights..., x, y), without autograd left in it and without an optimizer."""
    from torch.fx.experimental.proxy_tensor import make_fx

    names = [name for name, _ in net.named_parameters()]
    target = F.one_hot(torch.randint(0, classes, (x.shape[0],)), classes).float()

    def step(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def loss(parameters: dict[str, torch.Tensor]) -> torch.Tensor:
            return -(arguments[-1] * torch.log_softmax(torch.func.functional_call(net, parameters, arguments[-2:-1]), -1)).sum(-1).mean()

        gradients, value = torch.func.grad_and_value(loss)(dict(zip(names, arguments)))
        return (value, *(gradients[name] for name in names))

    inputs = (*(parameter.detach() for parameter in net.parameters()), x, target)
    return make_fx(step)(*inputs), inputs


@seeded
def train_mlp() -> Built:
    return training_step(nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), torch.randn(128, 784), 10)


@seeded
def train_convnet() -> Built:
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(64 * 8 * 8, 10))
    return training_step(net, torch.randn(32, 3, 32, 32), 10)


@seeded
def train_depthwise() -> Built:
    """Blocks of MobileNet, of which most of the gradients are those of kernels that see one channel each."""
    def block(inner: int, outer: int, stride: int) -> list[nn.Module]:
        wide = 4 * inner
        return [nn.Conv2d(inner, wide, 1), nn.SiLU(), nn.Conv2d(wide, wide, 3, stride, 1, groups=wide), nn.SiLU(), nn.Conv2d(wide, outer, 1)]

    net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), *block(16, 24, 2), *block(24, 32, 1), *block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return training_step(net, torch.randn(8, 3, 64, 64), 10)


# ---- rows -----------------------------------------------------------------------------------------------------------

TABLE: dict[str, tuple[Callable[[], Built], float]] = {build.__name__: (build, goal) for build, goal in (
    *((build, 1.0) for build in (mlp, resnet50, bert_base_s128, gpt2_s64, llama4x512_s128, vit_tiny, mobilenet_v2)),
    (operation("matmul_1024", torch.matmul, (1024, 1024), (1024, 1024)), 1.0),
    (operation("softmax_4096x1024", lambda x: torch.softmax(x, -1), (4096, 1024)), 0.9),
    (operation("layer_norm_4096x1024", lambda x, w, b: F.layer_norm(x, (1024,), w, b), (4096, 1024), (1024,), (1024,)), 0.9),
    (operation("elementwise_4m", lambda x, y: torch.tanh(x) * y + torch.exp(-x), (2048, 2048), (2048, 2048)), 0.9),
    (operation("reduce_sum_4m", lambda x: x.sum(-1), (2048, 2048)), 0.9),
    (operation("transpose_2048", lambda x: x.t().contiguous(), (2048, 2048)), 0.9),
    (train_mlp, 1.0), (train_convnet, 1.0))}
# Programs in f32 whose products are computed in bf16, with OpenVINO's own bf16 mode as the only peer.
# Of f32 programs: products in bf16, and with what they read in bf16 for all, which is what OpenVINO's mode does.
IN_BF16: dict[str, float] = {f"{name}@{precision}": 1.0 for precision in ("bf16", "bf16/bf16") for name in ("matmul_1024", "mlp", "bert_base_s128", "resnet50", "mobilenet_v2")}
# Programs that are written in bf16: the same models with their weights and inputs in it. Peers are OpenVINO in bf16 and torch.
WRITTEN_IN_BF16: dict[str, float] = {f"{name}.bfloat16": 1.0 for name in ("mlp", "bert_base_s128", "resnet50", "mobilenet_v2")}
OTHERS: dict[str, Callable[[], Built]] = {build.__name__: build for build in (
    efficientnet, convnext, *IMAGES, train_depthwise, t5_small, unet, lstm, volumes, graph_net, gather_elements, scatter_add, gru_cells,
    operation("argmax_1024x4096", lambda x: x.argmax(-1), (1024, 4096)),
    operation("argmax_of_columns", lambda x: x.argmax(0), (1024, 1024)),
    operation("argmax_of_classes", lambda x: x.argmax(1), (16, 21, 10000)),
    operation("small_products", torch.bmm, (4096, 8, 8), (4096, 8, 8)),
    operation("products_of_heads", lambda q, k: q @ k.transpose(-1, -2), (8, 12, 49, 32), (8, 12, 49, 32)),
    operation("tall_product", torch.matmul, (20000, 40), (40, 24)),
    operation("group_norm", lambda x, w, b: F.group_norm(x, 32, w, b), (2, 320, 40, 40), (320,), (320,)),
    operation("outer_2048", torch.outer, (2048,), (2048,)),
    operation("mish_2m", F.mish, (1024, 2048)),
    operation("gelu_by_cubes", lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0)))), (512, 3072)),
    operation("roll", lambda x: torch.roll(x, (3, 3), (1, 2)), (4, 56, 56, 96)),
    operation("roll_of_rows", lambda x: torch.roll(x, 5, -1), (2048, 1000)),
    operation("row_times_matrix", torch.matmul, (1, 256), (256, 1024)),
    operation("adaptive_average", lambda x: F.adaptive_avg_pool2d(x, 7), (4, 64, 56, 56)),
    operation("topk_50_of_32000", lambda x: x.topk(50, -1)[0], (256, 32000)),
    operation("sort_256x4096", lambda x: x.sort(-1)[0], (256, 4096)),
    operation("cumsum_4096x512", lambda x: x.cumsum(0), (4096, 512)),
    operation("nearest_2x", lambda x: F.interpolate(x, scale_factor=2), (1, 64, 112, 112)),
    operation("bilinear_2x", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 64, 112, 112)),
    operation("reflect_pad", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), (4, 64, 112, 112)),
    operation("max_pool_3", lambda x: F.max_pool2d(x, 3, 2, 1), (4, 64, 112, 112)),
    operation("max_pool_of_odd_lines", lambda x: F.max_pool2d(x, 2), (4, 64, 99, 99)),
    operation("cdist_512x64", torch.cdist, (512, 64), (512, 64)))}


def build(name: str) -> Built:
    """The model of a row; `NAME.bfloat16` is NAME in bfloat16."""
    model, _, kind = name.partition(".")
    module, inputs = TABLE[model][0]() if model in TABLE else OTHERS[model]()
    if kind:
        dtype = getattr(torch, kind)
        module, inputs = module.to(dtype), tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    return module, inputs
