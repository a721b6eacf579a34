"""The request `model` of the Python worker, through its own frames."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def send(process: subprocess.Popen, line: str, body: dict) -> None:
    payload = f"{line}\n{json.dumps(body)}".encode()
    process.stdin.write(struct.pack("<I", len(payload)) + payload)
    process.stdin.flush()


def receive(process: subprocess.Popen) -> tuple[str, dict]:
    (size,) = struct.unpack("<I", process.stdout.read(4))
    line, _, body = process.stdout.read(size).partition(b"\n")
    return line.decode(), json.loads(body) if body else {}


def test_models_and_operator_cases_are_served_by_one_process(tmp_path: Path) -> None:
    tensors = tmp_path / "tensors"
    tensors.touch()
    loader = ROOT / "zoo/models/cnn/pytorch/loader.py"
    broken = ROOT / "zoo/models/faults/leaves/pytorch/loader.py"
    case = {"op": "torch.neg", "seed": 0, "inputs": []}
    command = [sys.executable, str(ROOT / "python/cupel/worker/__main__.py"), "--compile-backend", "cupel"]
    requests, replies = os.pipe(), os.pipe()
    command += [f"--requests={requests[0]}", f"--replies={replies[1]}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(requests[0], replies[1])) as process:
        os.close(requests[0])
        os.close(replies[1])
        process.stdin, process.stdout = os.fdopen(requests[1], "wb"), os.fdopen(replies[0], "rb")
        assert receive(process)[0] == "hello"
        results = []
        for number, body in enumerate(({"handover": {"case": case}, "tensors": str(tensors)}, {"model": {"loader": str(broken), "folder": str(tmp_path / "a")}}, {"model": {"loader": str(loader), "folder": str(tmp_path / "b")}})):
            send(process, f"test {number}", body | {"threads": 1})
            stages = []
            while (frame := receive(process))[0].startswith("stage"):
                stages.append(frame[0])
            assert frame[0].split()[:2] == ["result", str(number)]
            results.append((stages, frame[1]))
        process.stdin.close()
        assert process.wait(60) == 0
    assert results[1][1]["error_class"] == "loader_model"
    assert results[2][0] == ["stage 2 load", "stage 2 reference", "stage 2 frontend"]
    assert results[2][1]["capture"]["graphs"] == 1, results[2][1]
    assert (tmp_path / "b/program.mlirbc").is_file() and not (tmp_path / "a").exists()
