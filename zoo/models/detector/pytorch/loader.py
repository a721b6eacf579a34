"""A detector: boxes and scores from a feature map, the best of them after non-maximum suppression with a fixed number of steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


@dataclass
class Detections:
    boxes: torch.Tensor
    scores: torch.Tensor
    keep: list[torch.Tensor]


def overlaps(boxes: torch.Tensor) -> torch.Tensor:
    low, high = boxes[:, None, :2].maximum(boxes[None, :, :2]), boxes[:, None, 2:].minimum(boxes[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return shared / (area[:, None] + area[None, :] - shared)


class Detector(nn.Module):
    def __init__(self, width: int = 16, best: int = 8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(width, width, 3, 2, 1), nn.LeakyReLU(0.1))
        self.boxes, self.scores, self.best = nn.Conv2d(width, 4, 1), nn.Conv2d(width, 1, 1), best

    def forward(self, x: torch.Tensor) -> Detections:
        features = self.body(x)
        height, width = features.shape[2:]
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centre = torch.stack((columns, rows), -1).reshape(-1, 2).to(x.dtype) + 0.5
        raw = self.boxes(features).flatten(2).transpose(1, 2)
        middle, size = centre + raw[..., :2].tanh(), 1 + raw[..., 2:].sigmoid() * 3
        boxes = torch.cat((middle - size / 2, middle + size / 2), -1)
        scores = self.scores(features).flatten(1).sigmoid()
        kept = []
        for own_boxes, own_scores in zip(boxes.float(), scores.float()):
            _, order = own_scores.topk(self.best)
            overlap = overlaps(own_boxes[order])
            alive = torch.ones(self.best)
            for i in range(self.best - 1):
                later = (torch.arange(self.best) > i) & (overlap[i] > 0.5) & (alive[i] > 0)
                alive = alive.masked_fill(later, 0)
            kept.append(alive)
        return Detections(boxes, scores, kept)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Detector", variant, ModelGroup.GENERALITY, ModelTask.CV_OBJECT_DET, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Detector()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 3, 32, 32)
