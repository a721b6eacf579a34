"""A small convolutional network with batch norms and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class ModelVariant(StrEnum):
    SMALL = "small"
    WIDE = "wide"


@dataclass
class Config(ModelConfig):
    width: int = 8


class CNN(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.AvgPool2d(2),
        )
        self.head = nn.Linear(2 * width * 8 * 8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


class ModelLoader(ForgeModel):
    _VARIANTS = {
        ModelVariant.SMALL: Config("cupel/cnn-small", width=8),
        ModelVariant.WIDE: Config("cupel/cnn-wide", width=24),
    }
    DEFAULT_VARIANT = ModelVariant.SMALL

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("CNN", variant, ModelGroup.RED, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return CNN(self._variant_config.width)

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 3, 32, 32)
