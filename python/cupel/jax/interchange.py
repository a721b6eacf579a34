"""DLPack: arrays on `cupel` handed to NumPy, PyTorch and others.

JAX knows the memory of CPUs and GPUs only. Arrays of Cupel's devices are handed over as a copy on JAX's CPU backend, which
those others can write to without harm.
"""

from __future__ import annotations

from typing import Any


def register() -> None:
    from jax._src import array, xla_bridge
    from jax._src.dlpack import DLDeviceType

    from cupel.jax import PLATFORM

    original, original_device = array.ArrayImpl.__dlpack__, array.ArrayImpl.__dlpack_device__

    def is_ours(x: Any) -> bool:
        devices = x.sharding.device_set
        return len(devices) == 1 and next(iter(devices)).platform == PLATFORM

    def dlpack(self: Any, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[Any, int] | None = None,
               copy: bool | None = None) -> Any:
        if not is_ours(self):
            return original(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if copy is not None and not copy:
            raise BufferError(f"an array on {PLATFORM} is handed over as a copy, and copy=False forbids that")
        import jax

        try:
            cpu = xla_bridge.get_backend("cpu").local_devices()[0]
        except RuntimeError as error:
            raise BufferError(f"an array on {PLATFORM} is handed over by JAX's CPU backend; add it: JAX_PLATFORMS={PLATFORM},cpu") from error
        # JAX's CPU backend may look at our memory in place, which constants of programs share.
        return original(jax.device_put(self, cpu), stream=None, max_version=max_version, dl_device=dl_device, copy=True)

    def dlpack_device(self: Any) -> tuple[Any, int]:
        return (DLDeviceType.kDLCPU, 0) if is_ours(self) else original_device(self)

    array.ArrayImpl.__dlpack__ = dlpack
    array.ArrayImpl.__dlpack_device__ = dlpack_device
