"""Words that loaders describe themselves with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class StrEnum(Enum):
    def __str__(self) -> str:
        return self.value


class ModelGroup(StrEnum):
    GENERALITY = "generality"


class ModelTask(StrEnum):
    CV_IMAGE_CLS = "cv_image_cls"


class ModelSource(StrEnum):
    GITHUB = "github"


class Framework(StrEnum):
    TORCH = "pytorch"


@dataclass
class ModelConfig:
    pretrained_model_name: str


@dataclass
class ModelInfo:
    model: str
    variant: Any
    group: Any
    task: Any
    source: Any
    framework: Any

    @property
    def name(self) -> str:
        return "_".join(str(word) for word in (self.framework, self.model, self.variant or "default", self.task, self.source))
