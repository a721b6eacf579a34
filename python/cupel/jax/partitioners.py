"""custom_partitioning on `cupel`: the user's function says what each device computes, and the plugin puts that into the program.

JAX registers those who split custom calls with every plugin, and hands what they make over as bytecode of its own MLIR, which no
other version reads. For Cupel it becomes a portable artifact, like every other program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def _portable(program: bytes) -> bytes:
    from jax._src import xla_bridge
    from jaxlib import _jax
    from jaxlib.mlir.dialects import stablehlo

    from cupel.jax import PLATFORM

    newest = tuple(xla_bridge.get_backend(PLATFORM).stablehlo_current_version)
    known = tuple(int(number) for number in stablehlo.get_current_version().split("."))
    return _jax.mlir.serialize_portable_artifact(program, ".".join(map(str, min(newest, known))), True)


def _with_portable_programs(partition: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(partition)
    def wrapped(*args: Any) -> tuple[bytes, Any, Any]:
        program, arguments, results = partition(*args)
        return _portable(program), arguments, results

    return wrapped


def register() -> None:
    from jax._src import xla_bridge
    from jaxlib import xla_client

    from cupel.jax import PLATFORM

    original = xla_client.register_custom_call_partitioner

    @functools.wraps(original)
    def register_partitioner(name: str, prop_user_sharding: Any, partition: Any, infer_sharding_from_operands: Any,
                             can_side_effecting_have_replicated_sharding: bool = False, c_api: Any = None) -> None:
        if c_api is not None and c_api is xla_bridge._backend_factories[PLATFORM].c_api:
            partition = _with_portable_programs(partition)
        original(name, prop_user_sharding, partition, infer_sharding_from_operands, can_side_effecting_have_replicated_sharding, c_api)

    xla_client.register_custom_call_partitioner = register_partitioner

    def ours(callback: Any) -> Any:
        if isinstance(callback, functools.partial) and callback.func is original:
            return functools.partial(register_partitioner, *callback.args, **callback.keywords)
        return callback

    # JAX calls these with every plugin once it has found all of them; if that has been, Cupel is told now.
    with xla_bridge._plugin_callback_lock:
        xla_bridge._plugin_callbacks[:] = [ours(callback) for callback in xla_bridge._plugin_callbacks]
        late = list(xla_bridge._plugin_callbacks) if xla_bridge._plugins_registered else []
    for callback in late:
        callback(c_api=xla_bridge._backend_factories[PLATFORM].c_api)
