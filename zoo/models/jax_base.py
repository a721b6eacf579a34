"""What loaders of JAX models share: no dtype and no batch size are asked of them, and several devices are a mesh of one axis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .base import SEED, ForgeModel

# Code that draws a few thousand numbers once: XLA takes ten times as long to make it fast as it takes to run.
_COMPILED_ONCE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def drawn(draw: Callable[[], Any]) -> Any:
    """A tree of arrays from a function that draws them: one small program for all of them, instead of one for every shape."""
    return jax.jit(draw, compiler_options=_COMPILED_ONCE)()


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
