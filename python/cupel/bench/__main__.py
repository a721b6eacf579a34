"""One peer runs one program: `__main__.py PEER FACTS.json`. Answers in lines of JSON, as `cupel-device measure` does."""

from __future__ import annotations

import os
import sys

if __package__ in (None, ""):
    # Started by its path: our own folder must not be where modules are looked for.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cupel.bench.serve import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
