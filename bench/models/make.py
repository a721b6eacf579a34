#!/usr/bin/env python3
"""Makes the files of one model: make.py NAME FOLDER writes FOLDER/NAME.pt2 and, where torch's exporter can, FOLDER/NAME.onnx."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import nets
import torch


def main(name: str, folder: str) -> int:
    warnings.filterwarnings("ignore")
    module, inputs = nets.build(name)
    target = Path(folder) / name
    with torch.no_grad():
        try:
            torch.onnx.export(module, inputs, f"{target}.onnx", dynamo=True, verbose=False)
        except Exception as error:  # The peers that read ONNX then say that they cannot.
            print(f"{name}: no ONNX: {str(error).splitlines()[0]}", file=sys.stderr)
            Path(f"{target}.onnx").unlink(missing_ok=True)
        torch.export.save(torch.export.export(module, inputs), f"{target}.new.pt2")
    os.replace(f"{target}.new.pt2", f"{target}.pt2")  # Whole or not at all.
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
