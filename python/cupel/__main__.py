"""`cupel` and `python -m cupel`: becomes the compiled command."""

from __future__ import annotations

import os
import sys

from cupel._files import command_path


def main() -> None:
    try:
        path = command_path()
    except FileNotFoundError as error:
        sys.exit(f"cupel: error: {error}")
    os.execv(path, ["cupel", *sys.argv[1:]])


if __name__ == "__main__":
    main()
