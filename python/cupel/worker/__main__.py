"""Starts the worker: `python -m cupel.worker`, or this file by its path (then the package is found beside it)."""

from __future__ import annotations

import os
import sys

if __package__ in (None, ""):
    # Started by its path: our own folder must not be where modules are looked for.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cupel.worker import instructions
from cupel.worker.serve import main

if __name__ == "__main__":
    if sys.argv[1:] == ["instructions"]:
        sys.exit(instructions.report())
    if sys.argv[1:2] == ["phases"]:
        from cupel.worker import phases

        sys.exit(phases.main(sys.argv[2:]))
    if sys.argv[1:2] == ["model"]:
        from cupel.worker import model

        sys.exit(model.main(sys.argv[2:]))
    sys.exit(main(sys.argv[1:]))
