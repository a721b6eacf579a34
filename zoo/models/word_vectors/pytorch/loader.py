"""Sums of word vectors over a vocabulary that is fetched as a large file: from the cache, or from the mirror beside this loader."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import nn

from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ...tools.utils import get_file

VOCABULARY = "cupel/words.txt"
SHA256 = "50eea597864b467221a1a35ff5f08e52baa6eab73f8f4d9684dccffa4b05570c"


class WordVectors(nn.Module):
    def __init__(self, words: int, width: int = 24, classes: int = 5):
        super().__init__()
        self.vectors, self.head = nn.Embedding(words, width), nn.Linear(width, classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.vectors(ids).sum(dim=1)))


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("WordVectors", variant, ModelGroup.GENERALITY, ModelTask.NLP_TOKEN_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        os.environ.setdefault("IRD_LF_CACHE", (Path(__file__).resolve().parent / "mirror").as_uri())
        self._words = get_file(VOCABULARY, sha256=SHA256).read_text().split()
        return WordVectors(len(self._words))

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        places = {word: i for i, word in enumerate(self._words)}
        texts = ["gold silver lead copper", "crucible cupel furnace muffle"]
        return torch.tensor([[places[word] for word in texts[i % 2].split()] for i in range(batch_size)])
