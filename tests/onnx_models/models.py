"""The models of the cross-check against ONNX Runtime: small, of every kind that users bring, random weights by a fixed seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 10), nn.LogSoftmax(-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
                                  nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
        self.skip = nn.Identity() if inside == outside and stride == 1 else nn.Sequential(
            nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 24, 2))
        self.head = nn.Linear(24, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class DepthwiseCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish()]
        for inside, outside, stride in ((8, 16, 1), (16, 24, 2), (24, 24, 1)):
            layers += [nn.Conv2d(inside, inside, 3, stride, 1, groups=inside), nn.BatchNorm2d(inside), nn.ReLU6(),
                       nn.Conv2d(inside, outside, 1), nn.BatchNorm2d(outside), nn.Hardswish()]
        self.layers = nn.Sequential(*layers)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(24, 6, 1), nn.ReLU(), nn.Conv2d(6, 24, 1), nn.Hardsigmoid())
        self.head = nn.Linear(24, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(x)
        return self.head((x * self.squeeze(x)).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, size = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, size // self.heads).transpose(1, 2)

        y = functional.scaled_dot_product_attention(split(self.query(x)), split(self.key(x)), split(self.value(x)), attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, length, size))


class EncoderLayer(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(size, heads), nn.LayerNorm(size), nn.LayerNorm(size)
        self.up, self.down = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class BertEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions, self.segments = nn.Embedding(50, 32), nn.Embedding(16, 32), nn.Embedding(2, 32)
        self.norm = nn.LayerNorm(32)
        self.layers = nn.ModuleList(EncoderLayer(32, 4) for _ in range(2))
        self.pooler = nn.Linear(32, 32)

    def forward(self, tokens: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.words(tokens) + self.segments(segments) + self.positions(torch.arange(tokens.shape[1]))
        x = self.norm(x)
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class GptDecoder(nn.Module):
    """One step of decoding: the cache comes in and goes out longer."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(60, 32), nn.Embedding(32, 32)
        self.qkv = nn.ModuleList(nn.Linear(32, 96) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.up, self.down = (nn.ModuleList(nn.Linear(*size) for _ in range(2)) for size in ((32, 128), (128, 32)))
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(5))

    def forward(self, tokens: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch, length = tokens.shape
        past = cache.shape[4]
        x = self.words(tokens) + self.positions(torch.arange(past, past + length))
        allowed = torch.ones(length, past + length, dtype=torch.bool).tril(past)
        caches = []
        for i in range(2):
            q, k, v = self.qkv[i](self.norms[2 * i](x)).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
            k, v = torch.cat((cache[i, 0], k), 2), torch.cat((cache[i, 1], v), 2)
            caches.append(torch.stack((k, v)))
            scores = (q @ k.transpose(-1, -2)) / 8**0.5
            y = torch.softmax(scores.masked_fill(~allowed, float("-inf")), -1) @ v
            x = x + self.out[i](y.transpose(1, 2).reshape(batch, length, 32))
            x = x + self.down[i](functional.gelu(self.up[i](self.norms[2 * i + 1](x)), approximate="tanh"))
        return self.norms[4](x) @ self.words.weight.T, torch.stack(caches)


class LlamaBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(32, eps=1e-6), nn.RMSNorm(32, eps=1e-6)
        self.q, self.k, self.v, self.o = (nn.Linear(32, out, bias=False) for out in (32, 16, 16, 32))
        self.gate, self.up, self.down = (nn.Linear(*size, bias=False) for size in ((32, 80), (32, 80), (80, 32)))

    def rotate(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        angles = positions[:, None] * (10000.0 ** (-torch.arange(0, 8, 2) / 8))[None]
        cosine, sine = (torch.cat((f(angles), f(angles)), -1) for f in (torch.cos, torch.sin))
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat((-second, first), -1) * sine

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(batch, length, -1, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = self.rotate(q, positions), self.rotate(k, positions)
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, 32))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        self.token, self.positions = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
        self.layers = nn.ModuleList(EncoderLayer(32, 2) for _ in range(2))
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat((self.token.expand(y.shape[0], -1, -1), y), 1) + self.positions
        for layer in self.layers:
            y = layer(y)
        return self.head(y[:, 0])


class LstmTagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 16)
        self.lstm = nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(24, 7)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return functional.log_softmax(self.tags(self.lstm(self.words(tokens))[0]), -1)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def block(inside: int, outside: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.GroupNorm(4, outside), nn.SiLU())

        self.down1, self.down2, self.middle = block(3, 8), block(8, 16), block(16, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.join2, self.join1 = block(32, 8), block(16, 8)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        y = self.middle(functional.avg_pool2d(second, 2))
        y = self.join2(torch.cat((self.up2(y), second), 1))
        return self.out(self.join1(torch.cat((self.up1(y), first), 1)))


class SmallCnn(nn.Module):
    """What the quantized model is made from."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                                    nn.Conv2d(16, 16, 3, 1, 1, groups=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@dataclasses.dataclass
class Entry:
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]


def image(batch: int, size: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (torch.randn(batch, 3, size, size),)


ENTRIES: dict[str, Entry] = {
    "mlp": Entry(Mlp, lambda: (torch.randn(5, 24),)),
    "resnet": Entry(ResNet, image(2, 48)),
    "depthwise_cnn": Entry(DepthwiseCnn, image(2, 32)),
    "bert_encoder": Entry(BertEncoder, lambda: (torch.randint(0, 50, (2, 12)), torch.randint(0, 2, (2, 12)),
                                                torch.tensor([[1] * 12, [1] * 7 + [0] * 5]))),
    "gpt_decoder": Entry(GptDecoder, lambda: (torch.randint(0, 60, (2, 3)), torch.randn(2, 2, 2, 4, 6, 8))),
    "llama_block": Entry(LlamaBlock, lambda: (torch.randn(2, 9, 32), torch.arange(9).float())),
    "vit": Entry(VisionTransformer, image(2, 32)),
    "lstm_tagger": Entry(LstmTagger, lambda: (torch.randint(0, 40, (3, 11)),)),
    "unet": Entry(UNet, image(1, 32)),
    "quantized_cnn": Entry(SmallCnn, image(4, 16)),
}
