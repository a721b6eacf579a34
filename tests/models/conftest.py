"""Makes the source tree's package importable; torch runs on one thread, with products that live on this processor, and no golden result comes from an earlier run."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cupel.worker.instructions import settle  # noqa: E402

os.environ["CUPEL_FRAMEWORKS_CACHE"] = "0"
settle()  # Before torch computes anything.

import torch  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def bundled_zoo() -> pathlib.Path:
    return ROOT / "zoo/models"
