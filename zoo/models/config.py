"""Records and words that model loaders describe themselves with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StrEnum(Enum):
    """A member reads as its value; it is no text itself."""

    def __str__(self) -> str:
        return self.value


class ModelGroup(StrEnum):
    GENERALITY = "generality"
    RED = "red"
    PRIORITY = "priority"
    VULCAN = "vulcan"


class ModelTask(StrEnum):
    NLP_CAUSAL_LM = "nlp_causal_lm"
    NLP_MASKED_LM = "nlp_masked_lm"
    NLP_TOKEN_CLS = "nlp_token_cls"
    NLP_TRANSLATION = "nlp_translation"
    CV_IMAGE_CLS = "cv_image_cls"
    CV_IMAGE_SEG = "cv_image_seg"
    CV_OBJECT_DET = "cv_object_det"
    AUDIO_ASR = "audio_asr"
    CONDITIONAL_GENERATION = "conditional_generation"
    ATOMIC_ML = "atomic_ml"


class ModelSource(StrEnum):
    CUSTOM = "custom"


class Framework(StrEnum):
    TORCH = "pytorch"
    JAX = "jax"
    ONNX = "onnx"


class Parallelism(StrEnum):
    SINGLE_DEVICE = "single_device"
    DATA_PARALLEL = "data_parallel"
    TENSOR_PARALLEL = "tensor_parallel"


@dataclass
class ModelConfig:
    """What a variant is made from; loaders derive their own, with sizes."""

    pretrained_model_name: str

    @property
    def model_name_clean(self) -> str:
        return self.pretrained_model_name.rsplit("/", 1)[-1]


@dataclass
class ModelInfo:
    """How a model is called in reports."""

    model: str
    variant: StrEnum | None
    group: ModelGroup
    task: ModelTask
    source: ModelSource
    framework: Framework
    model_name_clean: str | None = None

    @property
    def name(self) -> str:
        words = (self.framework, self.model, self.variant or "default", self.task, self.source)
        return "_".join(str(word) for word in words)
