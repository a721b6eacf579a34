"""JAX's persistent compilation cache (`jax_compilation_cache_dir`) for programs compiled for `cupel`.

JAX uses it on platforms that it knows by name only. Cupel gives it what it needs of a platform: executables that can be saved,
and a fingerprint of the devices that changes with every option that changes what programs compute. Programs that call Python
functions are not kept: the functions are those of one process.
"""

from __future__ import annotations

import logging
from typing import Any

_logger = logging.getLogger("jax._src.compiler")  # Where JAX says the same of its own platforms.


class _AsKnown:
    """A client of ours, by a name that JAX has on its list; nothing else is asked of it there."""

    platform = "cpu"
    supports_executable_serialization = True


def _calls_python(program: Any) -> bool:
    from jaxlib.mlir import ir

    from cupel.jax.callbacks import BUFFER_TARGET, CALLBACK_TARGET, INSPECT_TARGET

    found = False

    def look(op: Any) -> Any:
        nonlocal found
        if op.name == "stablehlo.custom_call":
            found = found or ir.StringAttr(op.attributes["call_target_name"]).value in (CALLBACK_TARGET, BUFFER_TARGET, INSPECT_TARGET)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    program.operation.walk(look)
    return found


def register() -> None:
    from jax._src import compilation_cache, compiler, config

    from cupel.jax import PLATFORM

    original_is_used, original_key = compilation_cache.is_cache_used, compiler._get_cache_key

    def is_cache_used(backend: Any) -> bool:
        return original_is_used(_AsKnown() if backend.platform == PLATFORM else backend)

    def get_cache_key(options: Any, backend: Any, computation: Any, *args: Any, **named: Any) -> str | None:
        if backend.platform == PLATFORM and compilation_cache.is_cache_used(backend) and _calls_python(computation):
            level = logging.WARNING if config.explain_cache_misses.value and compilation_cache.is_persistent_cache_enabled() else logging.DEBUG
            name = str(computation.operation.attributes["sym_name"]).strip('"')
            _logger.log(level, "Not writing persistent cache entry for '%s' because it uses host callbacks (e.g. from jax.debug.print or breakpoint)", name)
            return None
        return original_key(options, backend, computation, *args, **named)

    compilation_cache.is_cache_used = is_cache_used
    compiler._get_cache_key = get_cache_key
