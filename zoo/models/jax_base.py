"""What loaders of JAX models share: no dtype and no batch size are asked of them, and several devices are a mesh of one axis."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from .base import SEED, ForgeModel


class JaxForgeModel(ForgeModel):
    """`load_model`, then `load_inputs` on the same instance; with a mesh the batch is a multiple of its devices."""

    BATCH = 4

    @abstractmethod
    def build(self) -> Any:
        """The flax module; an nnx one holds its parameters."""

    @abstractmethod
    def make_arrays(self, batch_size: int, random: np.random.Generator) -> Any:
        """What the model is called with."""

    def make_inputs(self, batch_size: int, generator: Any) -> Any:
        return self.make_arrays(batch_size, generator)

    def load_model(self, *, dtype_override: Any = None, **kwargs: Any) -> Any:
        return self.build()

    def load_inputs(self, dtype_override: Any = None, mesh: Any = None) -> Any:
        devices = 1 if mesh is None else mesh.size
        return self.make_inputs(-(-self.BATCH // devices) * devices, np.random.default_rng(SEED))
