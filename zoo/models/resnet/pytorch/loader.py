"""Residual networks of basic blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    R8 = "8"
    R14 = "14"


@dataclass
class Config(ModelConfig):
    blocks: int = 1


class Block(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer)
        self.conv2, self.norm2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        self.shortcut = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)) if stride != 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, blocks: int):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = (8, 16, 32)
        self.stages = nn.Sequential(*(
            nn.Sequential(*(Block(widths[max(stage - 1, 0)] if i == 0 else width, width, 2 if i == 0 and stage else 1) for i in range(blocks)))
            for stage, width in enumerate(widths)
        ))
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(nn.functional.adaptive_avg_pool2d(self.stages(self.stem(x)), 1).flatten(1))


class ModelLoader(ForgeModel):
    _VARIANTS = {
        ModelVariant.R8: Config("cupel/resnet-8", blocks=1),
        ModelVariant.R14: Config("cupel/resnet-14", blocks=2),
    }
    DEFAULT_VARIANT = ModelVariant.R8

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("ResNet", variant, ModelGroup.RED, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return ResNet(self._variant_config.blocks)

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 3, 64, 64)
