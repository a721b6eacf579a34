"""Devices as torch's: there are none."""

from __future__ import annotations

from typing import Any

from torch_xla import device


def xla_device(*arguments: Any, **keywords: Any) -> Any:
    return device(*arguments, **keywords)
