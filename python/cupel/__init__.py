"""Cupel in Python: the PJRT plugin for JAX and the `cupel` command.

Importing this package imports nothing else: JAX loads `cupel.jax` when it looks for plugins.
"""

from __future__ import annotations

__version__ = "0.1.0"

from cupel._files import plugin_path as plugin_path
