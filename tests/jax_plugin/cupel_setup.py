"""Makes the platform `cupel` known to JAX; for tests and the processes that tests start."""

from __future__ import annotations

import pathlib


def register(library: pathlib.Path | str, **options) -> None:
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir

    xla_bridge.register_plugin("cupel", library_path=str(library), options=options or None)
    # JAX emits donation only for platforms on this list.
    if "cupel" not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append("cupel")
