"""Makes the source tree's package importable and its backend known to torch, as an installed wheel's entry point would."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from torch._dynamo.backends.registry import register_backend  # noqa: E402

from cupel.torch import backend  # noqa: E402
from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.
register_backend(backend, name="cupel")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
