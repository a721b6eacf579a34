"""Deformable attention: queries look at a picture where they choose to. The picture is a view of tokens, whose rows lie far apart in memory."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Deformable(nn.Module):
    def __init__(self, width: int = 64, side: int = 24, queries: int = 10, points: int = 4):
        super().__init__()
        self.side, self.points = side, points
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.places, self.weights = nn.Linear(width, 2 * points), nn.Linear(width, points)
        self.values, self.out = nn.Linear(8, width), nn.Linear(width, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch = tokens.shape[0]
        values = self.values(tokens).transpose(1, 2).unflatten(2, (self.side, self.side))
        grid = torch.tanh(self.places(self.queries)).view(1, -1, self.points, 2).expand(batch, -1, -1, -1)
        seen = nn.functional.grid_sample(values, grid, align_corners=False)
        return self.out((seen * torch.softmax(self.weights(self.queries), -1)).sum(-1).transpose(1, 2))


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Deformable", variant, ModelGroup.GENERALITY, ModelTask.CV_OBJECT_DET, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Deformable()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 24 * 24, 8)
