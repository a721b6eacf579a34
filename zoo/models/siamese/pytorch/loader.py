"""Two pictures through one network and how far apart they are: a model that exists for training alone and refuses to be used otherwise."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Siamese(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2), nn.ReLU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(2 * width * 9, 16))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        if not self.training:
            raise RuntimeError("this model is for training alone: use its features instead")
        return (self.features(first) - self.features(second)).pow(2).sum(-1)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Siamese", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Siamese()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> list[torch.Tensor]:
        return [normal(generator, batch_size, 1, 16, 16), normal(generator, batch_size, 1, 16, 16)]
