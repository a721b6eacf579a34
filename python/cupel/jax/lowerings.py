"""What JAX lowers for the CPU and not for an unknown platform, registered for `cupel` as well.

Cupel answers the CPU's LAPACK calls itself, so the CPU's rules are right here too. Rules of modules that are imported
later (sparse, for instance) are picked up as they register.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from cupel import _pjrt

# Primitives whose CPU rule Cupel takes over: those without a rule for every platform, and dense linear algebra,
# where LAPACK is both faster and closer to what users see on the CPU.
_TAKEN_OVER = frozenset({
    "check", "csr_spmm", "csr_spmv", "debug_callback", "debug_print", "eig", "eigh", "geqp3", "geqrf", "hessenberg",
    "householder_product", "lu", "ormqr", "schur", "spsolve", "svd", "tridiagonal", "tridiagonal_solve",
})  # fmt: skip


def register() -> None:
    import jax.interpreters.mlir as public_mlir
    from jax._src.interpreters import mlir
    from jaxlib import xla_client

    from cupel.jax import PLATFORM

    original = mlir.register_lowering

    @functools.wraps(original)
    def register_lowering(prim: Any, rule: Any, platform: str | None = None, **options: Any) -> Any:
        result = original(prim, rule, platform=platform, **options)
        if platform == "cpu" and str(prim) in _TAKEN_OVER:
            original(prim, rule, platform=PLATFORM, **options)
        return result

    for prim, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if str(prim) in _TAKEN_OVER:
            cacheable = getattr(entry, "cacheable", True)
            original(prim, entry.rule, platform=PLATFORM, cacheable=cacheable)
    # Modules of JAX call it by one name or the other.
    mlir.register_lowering = register_lowering
    public_mlir.register_lowering = register_lowering

    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)
    xla_client.register_custom_call_handler(PLATFORM, _register_custom_call)
    _register_sparse_kernels()
    _register_exported_calls()
    _register_platform_index()


def _register_custom_call(name: str | bytes, fn: Any, platform: str, api_version: int, traits: Any) -> None:
    """What a user registers with jax.ffi.register_ffi_target(..., platform="cupel")."""
    name = name.decode() if isinstance(name, bytes) else name
    if api_version != 1:
        raise NotImplementedError(f"the custom call {name} has the untyped interface; Cupel calls typed FFI handlers (api_version=1)")
    if isinstance(fn, dict):
        if set(fn) != {"execute"}:
            raise NotImplementedError(f"the FFI handler {name} has stages other than execute, which PJRT cannot hand to a plugin")
        fn = fn["execute"]
    _pjrt.register_ffi_handler(name, _pjrt.capsule_address(fn), int(getattr(traits, "value", traits)))


def _register_sparse_kernels() -> None:
    """jaxlib's own CPU handlers of sparse products speak FFI on host memory, which is what Cupel's devices have."""
    try:
        from jaxlib import cpu_sparse
    except ImportError:
        return
    for name, handler, api_version in cpu_sparse.registrations().get("cpu", []):
        if api_version == 1:
            _register_custom_call(name, handler, "cpu", api_version, 0)


def _register_exported_calls() -> None:
    """What jax.export made for the CPU runs here as well: the calls in it are those that Cupel answers.

    An export that names `cupel` among its platforms is called as that, and one for neither is refused by JAX.
    """
    from jax._src.export import _export
    from jax._src.interpreters import mlir

    from cupel.jax import PLATFORM

    def rule(ctx: Any, *args: Any, exported: Any, **options: Any) -> Any:
        platforms = exported.platforms
        if tuple(ctx.module_context.platforms) == (PLATFORM,) and PLATFORM not in platforms and "cpu" in platforms:
            exported = dataclasses.replace(exported, platforms=tuple(PLATFORM if name == "cpu" else name for name in platforms))
        return _export._call_exported_lowering(ctx, *args, exported=exported, **options)

    mlir.register_lowering(_export.call_exported_p, rule, platform=PLATFORM)


def _register_platform_index() -> None:
    """lax.platform_dependent without a default, of which no branch is for `cupel`: the CPU's branch is the right one.

    Where there is a default, that is taken, as JAX does for a platform it does not know.
    """
    from jax._src.interpreters import mlir
    from jax._src.lax.control_flow import conditionals

    from cupel.jax import PLATFORM

    Platforms = tuple[tuple[str, ...] | None, ...]

    def with_ours(platforms: Platforms) -> Platforms:
        if None in platforms or any(PLATFORM in names for names in platforms if names):
            return platforms
        return tuple((*names, PLATFORM) if names and "cpu" in names else names for names in platforms)

    def index_rule(ctx: Any, *, platforms: Platforms) -> Any:
        return conditionals._platform_index_lowering(ctx, platforms=with_ours(platforms))

    def cond_rule(ctx: Any, index: Any, *args: Any, branches: Any, **params: Any) -> Any:
        if (platforms := params.get("branches_platforms")) is not None:
            params["branches_platforms"] = with_ours(platforms)
        return conditionals._cond_lowering(ctx, index, *args, branches=branches, **params)

    mlir.register_lowering(conditionals.platform_index_p, index_rule, platform=PLATFORM)
    mlir.register_lowering(conditionals.cond_p, cond_rule, platform=PLATFORM)
