"""More convolutional networks for bench/models, whose parts the table's two lack: channels that are shuffled, joined, split, grouped, normalised in groups, upsampled
and convolved the other way round. Plans as published, at a fraction of the depth where the rest repeats itself.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Built, conv, seeded


class ShuffleUnit(nn.Module):
    """ShuffleNetV2's: half of the channels pass, and both halves are laced."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        half = outer // 2
        self.side = nn.Sequential(conv(inner, inner, 3, 2, inner), conv(inner, half, act=nn.ReLU())) if stride == 2 else None
        self.body = nn.Sequential(conv(inner if stride == 2 else half, half, act=nn.ReLU()), conv(half, half, 3, stride, half), conv(half, half, act=nn.ReLU()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        passed, taken = (self.side(x), x) if self.side else x.chunk(2, 1)
        joined = torch.cat([passed, self.body(taken)], 1)
        n, c, h, w = joined.shape
        return joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@seeded
def shufflenet() -> Built:
    layers: list[nn.Module] = [conv(3, 24, 3, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 24
    for outer, depth in ((116, 4), (232, 8), (464, 4)):
        for i in range(depth):
            layers.append(ShuffleUnit(inner, outer, 2 if i == 0 else 1))
            inner = outer
    layers += [conv(464, 1024, act=nn.ReLU()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class DenseLayer(nn.Module):
    def __init__(self, inner: int, growth: int = 32):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(inner), nn.ReLU(), conv(inner, 4 * growth, act=nn.ReLU()), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.body(x)], 1)


@seeded
def densenet() -> Built:
    """DenseNet-121's plan."""
    layers: list[nn.Module] = [conv(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for i, depth in enumerate((6, 12, 24, 16)):
        if i:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(depth):
            layers.append(DenseLayer(channels))
            channels += 32
    layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class BasicBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(conv(inner, outer, 3, stride, act=nn.ReLU()), conv(outer, outer, 3))
        self.skip = conv(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.skip(x))


class FeaturePyramid(nn.Module):
    """ResNet-18's levels, joined from the top down, with a head for classes and one for boxes on each."""

    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512), inner: int = 128):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1))
        self.levels = nn.ModuleList([nn.Sequential(BasicBlock(a, b, 1 if a == b else 2), BasicBlock(b, b, 1)) for a, b in zip((64, *widths), widths)])
        self.across = nn.ModuleList([nn.Conv2d(width, inner, 1) for width in widths])
        self.smooth = nn.ModuleList([nn.Conv2d(inner, inner, 3, padding=1) for _ in widths])
        self.head = nn.Sequential(nn.Conv2d(inner, inner, 3, padding=1), nn.ReLU())
        self.classes, self.boxes = nn.Conv2d(inner, 3 * 20, 3, padding=1), nn.Conv2d(inner, 3 * 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, kept = self.stem(x), []
        for level in self.levels:
            x = level(x)
            kept.append(x)
        above, found = None, []
        for i in reversed(range(len(kept))):
            now = self.across[i](kept[i])
            above = now if above is None else now + F.interpolate(above, scale_factor=2)
            y = self.head(self.smooth[i](above))
            found += [self.classes(y).flatten(2), self.boxes(y).flatten(2)]
        return torch.cat(found[0::2], 2), torch.cat(found[1::2], 2)


@seeded
def feature_pyramid() -> Built:
    return FeaturePyramid(), (torch.randn(1, 3, 192, 192),)


class RegBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int, group: int):
        super().__init__()
        self.first, self.second = conv(inner, outer, act=nn.ReLU()), conv(outer, outer, 3, stride, outer // group, nn.ReLU())
        self.down, self.up = nn.Conv2d(outer, inner // 4, 1), nn.Conv2d(inner // 4, outer, 1)
        self.third = conv(outer, outer)
        self.skip = conv(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.second(self.first(x))
        y = y * torch.sigmoid(self.up(F.relu(self.down(y.mean((2, 3), keepdim=True)))))
        return F.relu(self.third(y) + self.skip(x))


@seeded
def regnet() -> Built:
    """RegNetY-800MF's plan: groups of 16, squeeze and excite."""
    layers: list[nn.Module] = [conv(3, 32, 3, 2, act=nn.ReLU())]
    inner = 32
    for outer, depth in ((64, 1), (144, 3), (320, 8), (784, 2)):
        for i in range(depth):
            layers.append(RegBlock(inner, outer, 2 if i == 0 else 1, 16))
            inner = outer
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(784, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class Branches(nn.Module):
    """GoogLeNet's: four ways side by side, joined by channels."""

    def __init__(self, inner: int, one: int, three: tuple[int, int], five: tuple[int, int], pooled: int):
        super().__init__()
        act = nn.ReLU()
        self.ways = nn.ModuleList([
            conv(inner, one, act=act), nn.Sequential(conv(inner, three[0], act=act), conv(*three, 3, act=act)),
            nn.Sequential(conv(inner, five[0], act=act), conv(*five, 5, act=act)), nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inner, pooled, act=act))])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([way(x) for way in self.ways], 1)


@seeded
def googlenet() -> Built:
    act, pool = nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    layers = [conv(3, 64, 7, 2, act=act), pool, conv(64, 64, act=act), conv(64, 192, 3, act=act), pool,
              Branches(192, 64, (96, 128), (16, 32), 32), Branches(256, 128, (128, 192), (32, 96), 64), pool,
              Branches(480, 192, (96, 208), (16, 48), 64), Branches(512, 160, (112, 224), (24, 64), 64), Branches(512, 128, (128, 256), (24, 64), 64),
              Branches(512, 112, (144, 288), (32, 64), 64), Branches(528, 256, (160, 320), (32, 128), 128), pool,
              Branches(832, 256, (160, 320), (32, 128), 128), Branches(832, 384, (192, 384), (48, 128), 128),
              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


class NormalisedBlock(nn.Module):
    """As in diffusion's networks: group norm and swish before each convolution."""

    def __init__(self, inner: int, outer: int):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(32, inner), nn.SiLU(), nn.Conv2d(inner, outer, 3, padding=1), nn.GroupNorm(32, outer), nn.SiLU(), nn.Conv2d(outer, outer, 3, padding=1))
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.skip(x) + self.body(x)


class Diffusion(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (64, 128, 256)):
        super().__init__()
        self.first = nn.Conv2d(4, widths[0], 3, padding=1)
        self.down = nn.ModuleList([NormalisedBlock(a, b) for a, b in zip((widths[0], *widths), widths)])
        self.less = nn.ModuleList([nn.Conv2d(width, width, 3, 2, 1) for width in widths[:-1]])
        self.more = nn.ModuleList([nn.Conv2d(b, a, 3, padding=1) for a, b in zip(widths, widths[1:])])
        self.up = nn.ModuleList([NormalisedBlock(2 * width, width) for width in widths[:-1]])
        self.last = nn.Sequential(nn.GroupNorm(32, widths[0]), nn.SiLU(), nn.Conv2d(widths[0], 4, 3, padding=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, kept = self.first(x), []
        for i, block in enumerate(self.down):
            x = block(x)
            if i < len(self.less):
                kept.append(x)
                x = self.less[i](x)
        for i in reversed(range(len(self.up))):
            x = self.up[i](torch.cat([self.more[i](F.interpolate(x, scale_factor=2)), kept[i]], 1))
        return self.last(x)


@seeded
def diffusion_unet() -> Built:
    return Diffusion(), (torch.randn(1, 4, 64, 64),)


@seeded
def generator() -> Built:
    """DCGAN's: transposed convolutions of 4 x 4, two pixels for one."""
    layers: list[nn.Module] = [nn.ConvTranspose2d(100, 512, 4, 1, 0, bias=False), nn.BatchNorm2d(512), nn.ReLU()]
    for inner, outer in ((512, 256), (256, 128), (128, 64)):
        layers += [nn.ConvTranspose2d(inner, outer, 4, 2, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()]
    layers += [nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()]
    return nn.Sequential(*layers), (torch.randn(1, 100, 1, 1),)


class CrossStage(nn.Module):
    """YOLO's: a split, bottlenecks on one side whose every stage is kept, and all of it joined."""

    def __init__(self, inner: int, outer: int, depth: int):
        super().__init__()
        act, half = nn.SiLU(), outer // 2
        self.first = conv(inner, outer, act=act)
        self.body = nn.ModuleList([nn.Sequential(conv(half, half, 3, act=act), conv(half, half, 3, act=act)) for _ in range(depth)])
        self.last = conv((2 + depth) * half, outer, act=act)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = list(self.first(x).chunk(2, 1))
        for block in self.body:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        act = nn.SiLU()
        self.stem = nn.Sequential(conv(3, 16, 3, 2, act=act), conv(16, 32, 3, 2, act=act), CrossStage(32, 32, 1))
        self.low = nn.Sequential(conv(32, 64, 3, 2, act=act), CrossStage(64, 64, 2))
        self.middle = nn.Sequential(conv(64, 128, 3, 2, act=act), CrossStage(128, 128, 2))
        self.high = nn.Sequential(conv(128, 256, 3, 2, act=act), CrossStage(256, 256, 1))
        self.before, self.after = conv(256, 128, act=act), conv(512, 256, act=act)
        self.join_middle, self.join_low = CrossStage(384, 128, 1), CrossStage(192, 64, 1)
        self.heads = nn.ModuleList([nn.Conv2d(width, 84, 1) for width in (64, 128, 256)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = self.low(self.stem(x))
        middle = self.middle(low)
        pooled = [self.before(self.high(middle))]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        high = self.after(torch.cat(pooled, 1))
        middle = self.join_middle(torch.cat([F.interpolate(high, scale_factor=2), middle], 1))
        low = self.join_low(torch.cat([F.interpolate(middle, scale_factor=2), low], 1))
        return torch.cat([head(level).flatten(2) for head, level in zip(self.heads, (low, middle, high))], 2)


@seeded
def detector() -> Built:
    """YOLOv8n's plan, one size of boxes."""
    return Detector(), (torch.randn(1, 3, 320, 320),)


class GhostUnit(nn.Module):
    """GhostNet's: half of the channels are made of the other half, each by itself."""

    def __init__(self, inner: int, outer: int, act: bool):
        super().__init__()
        self.first = conv(inner, outer // 2, act=nn.ReLU() if act else None)
        self.more = conv(outer // 2, outer // 2, 3, groups=outer // 2, act=nn.ReLU() if act else None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return torch.cat([x, self.more(x)], 1)


@seeded
def few_channels() -> Built:
    """Depthwise kernels of 8 and of 12 channels, and others that make two channels of one."""
    layers: list[nn.Module] = [conv(3, 16, 3, 2, act=nn.ReLU())]
    inner = 16
    for outer, stride in ((16, 1), (24, 2), (24, 1), (40, 2)):
        layers += [GhostUnit(inner, 3 * inner, True), *([conv(3 * inner, 3 * inner, 3, 2, 3 * inner)] if stride == 2 else []), GhostUnit(3 * inner, outer, False)]
        inner = outer
    layers += [conv(40, 80, 7, 2, 40, nn.GELU()), conv(80, 160), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


IMAGES = (shufflenet, densenet, feature_pyramid, regnet, googlenet, diffusion_unet, generator, detector, few_channels)
