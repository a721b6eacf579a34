"""What `cupel bench` hands to peers."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from cupel.bench.peers import Facts


def test_peers_with_weights_of_their_own_read_inputs_alone(tmp_path: Path) -> None:
    """Weights count as memory of whoever reads them: these are not even there."""
    header = json.dumps({"0": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "1": {"dtype": "F16", "shape": [1], "data_offsets": [8, 10]},
                         "2": {"dtype": "none", "shape": [1 << 40], "data_offsets": [10, 10 + (1 << 42)]}}).encode()
    (tmp_path / "inputs.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + np.float32([1, 2]).tobytes() + np.float16([3]).tobytes())
    facts = Facts("model.pt2", "pt2", str(tmp_path), 2, ["a", "b"], "", 1)
    assert [array.tolist() for array in facts.own_inputs()] == [[1.0, 2.0], [3.0]]
