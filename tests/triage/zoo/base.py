"""The smallest interface that loaders of this zoo share."""

from __future__ import annotations

from typing import Any

import torch

from .training_utils import unpack


class ForgeModel:
    _VARIANTS: dict[Any, Any] = {}
    DEFAULT_VARIANT: Any = None

    def __init__(self, variant: Any = None):
        self._variant = self.DEFAULT_VARIANT if variant is None else variant

    @classmethod
    def query_available_variants(cls) -> dict[Any, Any]:
        return cls._VARIANTS

    @classmethod
    def get_model_info(cls, variant: Any = None) -> Any:
        return cls._get_model_info(variant or cls.DEFAULT_VARIANT)

    def unpack_forward_output(self, forward_output: Any) -> torch.Tensor:
        return unpack(forward_output)


def narrowed(model: torch.nn.Module, dtype: torch.dtype | None) -> torch.nn.Module:
    return model if dtype is None else model.to(dtype)
