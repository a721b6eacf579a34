"""Checks of discovery on small zoos made here: what loaders say, ids and markers, hostile trees, the cache.

usage: check_zoo.py BUILD/bin [CHECK...]. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

# Each of these adds its checks to CHECKS.
import damage_checks  # noqa: F401
import loader_checks  # noqa: F401
import selection_checks  # noqa: F401
from small_zoos import CHECKS, Skip


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        if len(sys.argv) > 2 and function.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory(prefix="cupel-zoo-") as folder:
            try:
                function(Path(folder))
                passed += 1
            except Skip as reason:
                print(f"SKIPPED {function.__name__}: {reason}")
                skipped += 1
            except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
                print(f"FAILED {function.__name__}: {str(error)[:3000]}")
                failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
