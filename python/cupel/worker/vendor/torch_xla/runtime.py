"""How many devices there are."""

from __future__ import annotations

device_count = 1  # Set by the worker for each test.


def global_runtime_device_count() -> int:
    return device_count


def global_device_count() -> int:
    return device_count
