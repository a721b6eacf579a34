"""Every field of a model's entry in the configuration does what it says, to a loader that runs: what is judged, what is expected, and what reaches the device."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from test_run import ROOT

from cupel._files import command_path

LOADER = """
import torch
from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

KERNELS = torch.library.Library("aten", "IMPL")

class Model(torch.nn.Module):
    '''What a device computes is its golden result {kind}: the whole part of 1.5 is one, and none for a kernel of torch's that is wrong here.'''

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 32)

    def forward(self, x):
        y = self.layer(x)
        return y{changed}

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Configured", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)

    def build(self):
        if "{kind}" != "right":
            KERNELS.impl("trunc", lambda x: x * 0, "CPU", allow_override=True)
        return Model()

    def make_inputs(self, batch_size, generator):
        return torch.randn((batch_size, 32), generator=generator)
"""
# A correlation of 1 is `right` and `scaled`, of about 0.97 `blurred`; `turned` has none.
KINDS = {"right": "", **{kind: f" + torch.trunc(torch.full((), 1.5, dtype=y.dtype)) * ({more})"
                         for kind, more in (("scaled", "y * 0.0625"), ("blurred", "0.25 * y.std() * torch.sin(1000 * y)"), ("turned", "-2 * y"))}}

# The model, its entry, and what its record says.
CASES: dict[str, tuple[str, dict, dict]] = {
    "no_entry": ("right", {}, {"outcome": "passed", "bringup_status": "PASSED", "test_status": "UNSPECIFIED"}),
    "noise_decides": ("turned", {}, {"outcome": "failed", "bringup_status": "INCORRECT_RESULT"}),
    "pcc_met": ("blurred", {"status": "EXPECTED_PASSING", "required_pcc": 0.9}, {"outcome": "passed", "bringup_status": "PASSED"}),
    "pcc_missed": ("blurred", {"status": "EXPECTED_PASSING", "required_pcc": 0.99}, {"outcome": "failed", "bringup_status": "INCORRECT_RESULT"}),
    "pcc_off": ("turned", {"status": "EXPECTED_PASSING", "assert_pcc": False}, {"outcome": "passed", "bringup_status": "INCORRECT_RESULT"}),
    "pcc_off_right": ("right", {"status": "expected_passing", "assert_pcc": False}, {"outcome": "passed", "bringup_status": "PASSED", "guidance": "ENABLE_PCC"}),
    "pcc_low": ("right", {"status": "EXPECTED_PASSING", "required_pcc": 0.9}, {"outcome": "passed", "guidance": "RAISE_PCC"}),
    "allclose_met": ("scaled", {"assert_pcc": False, "assert_allclose": True, "allclose_rtol": 0.1, "allclose_atol": 0.05}, {"outcome": "passed"}),
    "allclose_missed": ("scaled", {"assert_pcc": False, "assert_allclose": True, "allclose_rtol": 0.01, "allclose_atol": 0.01}, {"outcome": "failed", "bringup_status": "INCORRECT_RESULT"}),
    "atol_met": ("scaled", {"required_atol": 1.0, "assert_atol": True}, {"outcome": "passed"}),
    "atol_missed": ("scaled", {"required_atol": 0.01, "assert_atol": True}, {"outcome": "failed"}),
    "atol_off": ("scaled", {"required_pcc": 0.99, "required_atol": 0.01}, {"outcome": "passed"}),
    "skipped": ("right", {"status": "NOT_SUPPORTED_SKIP", "reason": "Too large for us", "bringup_status": "FAILED_RUNTIME"},
                {"outcome": "skipped", "bringup_status": "FAILED_RUNTIME", "message": "Too large for us"}),
    "known_failure": ("turned", {"status": "KNOWN_FAILURE_XFAIL", "reason": "Turned round", "bringup_status": "INCORRECT_RESULT"}, {"outcome": "xfailed", "bringup_status": "INCORRECT_RESULT"}),
    "known_no_more": ("right", {"status": "KNOWN_FAILURE_XFAIL", "reason": "Turned round"}, {"outcome": "xpassed", "guidance": "RM_XFAIL"}),
    "overridden": ("right", {"status": "EXPECTED_PASSING", "arch_overrides": {"n150": {"status": "NOT_SUPPORTED_SKIP", "reason": "Not there"}, "n300": {"required_pcc": 0.5}}},
                   {"outcome": "skipped", "message": "Not there"}),
    "of_another": ("turned", {"status": "EXPECTED_PASSING", "arch_overrides": {"n300": {"assert_pcc": False}}}, {"outcome": "failed"}),
    "batch": ("right", {"batch_size": 3}, {"outcome": "passed", "batch_size": 3}),
    "level": ("right", {"optimization_level": 1}, {"outcome": "passed", "note": ("compile options", "optimization_level=1")}),
    "narrow_weights": ("right", {"enable_weight_bfp8_conversion": True, "required_pcc": 0.9}, {"outcome": "passed", "note": ("compile options", "experimental_weight_dtype=bfp_bf8")}),
    "moe": ("right", {"inject_custom_moe": True}, {"outcome": "passed", "note": ("not heeded", "inject_custom_moe: ")}),
    "exact_code": ("right", {"emitpy_assert_exact": True}, {"outcome": "passed", "note": ("not heeded", "emitpy_assert_exact: ")}),
    "one_pass": ("right", {"execution_pass": "FORWARD"}, {"outcome": "passed", "note": ("execution_pass", "FORWARD")}),
    "filecheck": ("right", {"filechecks": ["add.ttnn.mlir"]}, {"outcome": "passed", "note": ("not heeded", "filechecks: ")}),
    "marked": ("right", {"status": "EXPECTED_PASSING", "markers": ["push"], "supported_archs": ["n150"]}, {"outcome": "passed", "marker": "push"}),
    "excluded": ("right", {"status": "EXCLUDE_MODEL"}, {}),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("configured")
    zoo = folder / "models"
    zoo.mkdir()
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_text((ROOT / "zoo/models" / name).read_text())
    for name, (kind, _, _) in CASES.items():
        (zoo / name / "pytorch").mkdir(parents=True)
        (zoo / name / "pytorch/loader.py").write_text(LOADER.format(kind=kind, changed=KINDS[kind]))
    entries = {f"{name}/pytorch-single_device-inference": entry for name, (_, entry, _) in CASES.items() if entry}
    (folder / "config.yaml").write_text(json.dumps({"test_config": entries}))
    done = subprocess.run([command_path(), "run", "--zoo", zoo, "--config", folder / "config.yaml", "-k", "single_device and inference", "--suite", "models", "--device", "cupel", "--arch", "n150", "-j", "1",
                           "--python", sys.executable, "--results", folder / "results", "--json", folder / "run.json", "--junitxml", folder / "run.xml"], capture_output=True, text=True, check=False, timeout=900)
    assert (folder / "run.json").exists(), done.stdout + done.stderr
    (properties,) = (json.loads(one.get("value")) for case in ElementTree.parse(folder / "run.xml").iter("testcase") if "one_pass/" in case.get("name") for one in case.iter("property") if one.get("name") == "tags")
    assert {key: properties.get(key) for key in ("weights_dtype", "execution_pass", "model_size_billions")} == {"weights_dtype": "bfloat16", "execution_pass": "FORWARD", "model_size_billions": 1056e-9}
    return {test["model_path"].split("/")[0]: test for test in json.loads((folder / "run.json").read_text())["tests"]}


def _says(record: dict, key: str, value: object) -> bool:
    """Equal; texts and lists hold it."""
    if key == "note":
        return value[1] in record["notes"].get(value[0], "")
    if key == "marker":
        return value in record["markers"]
    return value in str(record.get(key)) if key in ("message", "guidance") else record.get(key) == value


@pytest.mark.parametrize("name", [name for name, (_, _, said) in CASES.items() if said])
def test_an_entry_does_what_it_says(ran: dict[str, dict], name: str) -> None:
    unsaid = [key for key, value in CASES[name][2].items() if not _says(ran[name], key, value)]
    assert not unsaid, (unsaid, ran[name])


def test_an_excluded_model_is_not_there(ran: dict[str, dict]) -> None:
    assert sorted(ran) == sorted(name for name in CASES if name != "excluded")
