"""An encoder and a decoder of convolutions with skip connections and transposed convolutions."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


def convolutions(inner: int, outer: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(), nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList(convolutions(inner, outer) for inner, outer in zip((3, *widths), widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(inner, outer, 2, 2) for inner, outer in pairs)
        self.merge = nn.ModuleList(convolutions(2 * outer, outer) for _, outer in pairs)
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for i, layer in enumerate(self.down):
            skips.append(x := layer(nn.functional.max_pool2d(x, 2) if i else x))
        for up, merge, skip in zip(self.up, self.merge, skips[-2::-1]):
            x = merge(torch.cat((up(x), skip), 1))
        return self.head(x)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("UNet", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_SEG, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return UNet()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 3, 32, 32)
