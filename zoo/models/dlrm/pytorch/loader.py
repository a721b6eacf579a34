"""A recommender: embedding bags of categories, a dense network, and products of every pair."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class DLRM(nn.Module):
    def __init__(self, tables: int = 4, rows: int = 50, width: int = 8, dense: int = 13):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        count = tables + 1
        self.register_buffer("pairs", torch.triu_indices(count, count, 1), persistent=False)
        self.top = nn.Sequential(nn.Linear(width + count * tables // 2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, dense: torch.Tensor, categories: list[torch.Tensor]) -> torch.Tensor:
        x = self.bottom(dense)
        vectors = torch.stack([x, *(bag(indices) for bag, indices in zip(self.bags, categories))], 1)
        products = vectors @ vectors.transpose(1, 2)
        return self.top(torch.cat((x, products[:, self.pairs[0], self.pairs[1]]), 1))


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("DLRM", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return DLRM()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> list[Any]:
        rows = max(batch_size, 4)
        return [normal(generator, rows, 13), [torch.randint(0, 50, (rows, 3), generator=generator) for _ in range(4)]]
