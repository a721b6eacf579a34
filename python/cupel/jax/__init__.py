"""JAX's entry into Cupel: `jax.devices("cupel")`.

JAX finds this module through the entry point group `jax_plugins` and calls `initialize()`. The platform is registered
below the CPU's priority, so that installing Cupel changes nobody's default; `JAX_PLATFORMS=cupel` makes it the default.
"""

from __future__ import annotations

import dataclasses
import logging
import os

from cupel.jax.codegen import codegen_cpp as codegen_cpp
from cupel.jax.codegen import codegen_py as codegen_py
from cupel.jax.codegen import load_codegen_cpp as load_codegen_cpp
from cupel.jax.codegen import load_codegen_py as load_codegen_py

PLATFORM = "cupel"
_PRIORITY = -10  # The CPU has 0.
# Users of JAX know sums of narrow floats that are wide inside, and scatters that skip a window which hangs over an edge whole;
# the plugin by itself does in both what the reference does.
_DEFAULTS: dict[str, str | int] = {"accumulate": "f64", "scatter": "windows"}
# The compiled device has an accuracy of its own; programs that ask for sums in f64 run whole on the reference instead.
_REFERENCE = "reference"

_logger = logging.getLogger(__name__)
_is_registered = False


def _defaults(backend: str | int | None) -> dict[str, str | int]:
    return {name: value for name, value in _DEFAULTS.items() if backend == _REFERENCE or name != "accumulate"}


def client_options() -> dict[str, str | int]:
    """Client options from the environment; `jax_pjrt_client_create_options` is merged over them by JAX."""
    options = _defaults(os.environ.get("CUPEL_BACKEND"))
    for name in _DEFAULTS:
        if value := os.environ.get(f"CUPEL_{name.upper()}"):
            options[name] = value
    if arch := os.environ.get("CUPEL_ARCH"):
        options["arch"] = arch
    if count := os.environ.get("CUPEL_NUM_DEVICES"):
        try:
            options["num_devices"] = int(count)
        except ValueError:
            raise ValueError(f"CUPEL_NUM_DEVICES should be a number but is {count!r}") from None
    return options


def _register_failure(error: Exception) -> None:
    """JAX only logs what `initialize` raises: the reason is kept for who asks for the platform, and for nobody else."""
    from jax._src import xla_bridge

    def fail() -> None:
        raise RuntimeError(f"Cupel is not available: {error}")

    xla_bridge.register_backend_factory(PLATFORM, fail, priority=_PRIORITY, fail_quietly=True)


def _add_cpu() -> None:
    """JAX gives operands of callbacks and arrays for other frameworks to its CPU backend, which `JAX_PLATFORMS=cupel` leaves out.

    The default device stays ours: the first of the list is.
    """
    from jax._src import config

    names = (config.jax_platforms.value or "").split(",")
    if PLATFORM in names and "cpu" not in names:
        config.update("jax_platforms", ",".join([*names, "cpu"]))


def initialize(options: dict[str, str | int] | None = None) -> None:
    """Registers the platform `cupel` and what JAX lowers for it; a second call does nothing.

    JAX calls this without options: those of the client then come from the environment.
    """
    global _is_registered
    if _is_registered:
        return
    from jax._src import xla_bridge

    from cupel import _pjrt
    from cupel._files import plugin_path

    try:
        path = plugin_path()
        _pjrt.check_loadable()
    except (FileNotFoundError, ImportError) as error:
        _is_registered = True
        _logger.info("Cupel is not available: %s", error)
        _register_failure(error)
        return
    _is_registered = True
    _add_cpu()
    xla_bridge.register_plugin(PLATFORM, priority=_PRIORITY, library_path=path, options=client_options if options is None else _defaults(options.get("backend", os.environ.get("CUPEL_BACKEND"))) | options)
    # A mistake in an option (CUPEL_ARCH) is told to who asks for the platform; users of the CPU go on.
    registrations = xla_bridge._backend_factories
    registrations[PLATFORM] = dataclasses.replace(registrations[PLATFORM], fail_quietly=True)

    from cupel.jax import callbacks, compilation_cache, interchange, lowerings, partitioners

    lowerings.register()
    callbacks.register()
    interchange.register()
    partitioners.register()
    compilation_cache.register()
