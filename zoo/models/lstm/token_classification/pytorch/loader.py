"""A bidirectional LSTM over embedded tokens, some of which training drops; its state comes out as well."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Tagger(nn.Module):
    def __init__(self, vocabulary: int = 101, width: int = 16, labels: int = 5):
        super().__init__()
        self.words, self.dropout = nn.Embedding(vocabulary, width), nn.Dropout(0.2)
        self.lstm = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * width, labels)

    def forward(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        x, state = self.lstm(self.dropout(self.words(input_ids)))
        return self.head(x), state


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("LSTM", variant, ModelGroup.GENERALITY, ModelTask.NLP_TOKEN_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Tagger()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
        return (tokens(generator, batch_size, 10, 101),)

    def unpack_forward_output(self, fwd_output: tuple[torch.Tensor, object]) -> torch.Tensor:
        return fwd_output[0]
