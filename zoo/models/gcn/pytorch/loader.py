"""A graph network: messages along edges are summed at their targets and divided by the degree."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class GCN(nn.Module):
    def __init__(self, features: int = 12, width: int = 16, classes: int = 4):
        super().__init__()
        self.layers = nn.ModuleList((nn.Linear(features, width), nn.Linear(width, width)))
        self.own = nn.ModuleList((nn.Linear(features, width), nn.Linear(width, width)))
        self.head = nn.Linear(width, classes)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges[0], edges[1]
        degree = torch.zeros(nodes.shape[0], dtype=nodes.dtype).index_add(0, target, torch.ones(edges.shape[1], dtype=nodes.dtype)).clamp(min=1)
        for layer, own in zip(self.layers, self.own):
            messages = torch.zeros(nodes.shape[0], layer.out_features, dtype=nodes.dtype).index_add(0, target, layer(nodes)[source])
            nodes = torch.relu(messages / degree[:, None] + own(nodes))
        return torch.log_softmax(self.head(nodes), -1)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("GCN", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return GCN()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"nodes": normal(generator, 20, 12), "edges": torch.randint(0, 20, (2, 50), generator=generator)}
