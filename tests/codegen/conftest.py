"""Makes the source tree's package importable, as an installed wheel would."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.
