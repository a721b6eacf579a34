"""The convolutional network of PyTorch as an ONNX model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import onnx
import torch

from ...config import Framework, ModelInfo, StrEnum
from ..pytorch.loader import ModelLoader as TorchLoader
from ..pytorch.loader import ModelVariant as ModelVariant


class ModelLoader(TorchLoader):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return dataclasses.replace(super()._get_model_info(variant), framework=Framework.ONNX)

    def load_model(self, onnx_tmp_path: str, **kwargs: Any) -> onnx.ModelProto:
        path = Path(onnx_tmp_path) / "cnn.onnx"
        torch.onnx.export(super().load_model(), (self.load_inputs(),), path, dynamo=True, verbose=False)
        return onnx.load(path)
