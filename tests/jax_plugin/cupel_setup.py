"""Makes the platform `cupel` known to JAX as the installed package does; for tests and the processes that tests start."""

from __future__ import annotations

import os
import pathlib
import sys


def register(library: pathlib.Path | str, **options) -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
    os.environ["CUPEL_PLUGIN"] = str(library)
    import cupel.jax

    cupel.jax.initialize(options or None)
