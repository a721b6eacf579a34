"""The rules of ids, markers and pytest's expressions, written down a second time and in another way.

check_zoo.py compares what `cupel list` selects with what these functions select.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable

FUNCTIONS = {"llm": "test_llms_torch", "op_by_op": "test_all_models_op_by_op", "placeholder": "test_placeholder_models"}
ARCHS = ("n150", "p150", "n300", "n300-llmbox", "galaxy-wh-6u", "galaxy-bh", "qb2-blackhole", "lb-blackhole")
PLACEHOLDERS = ("Some Model", "Other/Model")
# What upstream's conftest marks `skip` on lb-blackhole, by the beginning of the id.
LB_BLACKHOLE_SKIPS = ("arnold/", "centernet/", "falcon/pytorch-3_Mamba_7B_Base", "maskformer_swin_b/", "monodepth2/", "ssd512/",
                      "swin/image_classification/pytorch-v2_Tiny_Patch4_Window8_256", "swin/masked_image_modeling/pytorch-v2_Tiny_Patch4_Window8_256",
                      "ultra_fast_lane_detection/", "ultra_fast_lane_detection_v2/", "yolov3/", "yolov4/", "yoloworld/")

SELECTIONS = [(None, markers, arch) for arch in (None, *ARCHS) for markers in (
    "expected_passing", "unspecified and nightly", "known_failure_xfail or not_supported_skip", "n150 and not training and llm", "skip")]
SELECTIONS += [(None, markers, None) for markers in (
    "red", "generality and weekly", "vulcan", "nightly and not red", "push", "large or push", "llm and tensor_parallel", "placeholder",
    "not placeholder and not llm", "model_test", "incorrect_result", "failed_fe_compilation or failed_runtime", "not_started",
    "n300_llmbox", "n300-llmbox", "galaxy_wh_6u and training", "not (n150 or p150)", "((red))", "single_device and (red or vulcan)",
    "no_auto_properties and data_parallel", "doesnotexist", "not doesnotexist", "data_parallel or tensor_parallel and training",
    "xfail", "not skip and not xfail", "llm_decode or llm_prefill or filecheck", "not not red", "red and not (training or llm) or vulcan and training", "unspecified or expected_passing")]
SELECTIONS += [(keyword, None, None) for keyword in (
    "llama", "LLAMA and 8B", "res.net/x_red/jax", "not pytorch", "jax and not bert", "test_all_models_torch",
    "test_all_models_op_by_op and base", "models", "3.1_8B", "mesh_1x8 and decode", "seq_1-batch_1", "torch[", "inference]", "[llama",
    "[bert_red", "pytorch-3.1", "-single_device-", "red", "nightly and net", "runner", "tests", "bert or net and not jax",
    "not (llama or mesh_)", "fsdp-dp", "a", "z and q and not x", "8b-instruct", "instruct-single", "e-inference", "training]",
    "test_models.py", "model_test", "some", "Other/Model", "placeholder", "no_such_thing", "base-llm_decode", "[some")]
SELECTIONS += [("llama", "n150 and expected_passing and inference", "n150"), ("bert", "red or nightly", None),
               ("net and not base", "tensor_parallel and n300_llmbox", "n300-llmbox"), ("jax", "unspecified", "p150"),
               ("instruct", "not llm", "galaxy-bh"), ("not instruct", "llm", "lb-blackhole"),
               ("skip", None, "lb-blackhole"), ("falcon", "not skip", "lb-blackhole"), ("skip", "llm and skip", "lb-blackhole")]


def model_path(name: str) -> str:
    return re.match(r"(.*?/(?:jax|pytorch))-", name)[1]


def make_config(bases: list[str]) -> dict[str, dict]:
    """Entries of every kind, for some of the tests of these models."""
    config: dict[str, dict] = {}
    statuses = ("EXPECTED_PASSING", "KNOWN_FAILURE_XFAIL", "NOT_SUPPORTED_SKIP", "EXCLUDE_MODEL", "expected_passing", None)
    bringups = (None, "INCORRECT_RESULT", "FAILED_RUNTIME", "failed_fe_compilation", "NOT_STARTED")
    extra_markers = (None, ["push"], ["weekly", "large"], ["nightly", "skip"], ["xfail"], [])
    archs = (None, ["n150"], ["n300-llmbox", "p150"], ["galaxy-wh-6u"], [])
    number = 0
    for base in bases:
        endings = ["-single_device-inference", "-tensor_parallel-training", "-data_parallel-inference"]
        if "/pytorch-" in base:
            endings.append("-llm_decode-seq_1-batch_1-single_device-mesh_default-inference")
        for ending in endings:
            number += 1
            if number % 7 == 0:
                continue
            entry = {"status": statuses[number % 6], "bringup_status": bringups[number % 5], "markers": extra_markers[number % 6],
                     "supported_archs": archs[number // 2 % 5]}
            entry = {key: value for key, value in entry.items() if value is not None}
            if number % 3 == 0:
                entry["arch_overrides"] = {ARCHS[number % len(ARCHS)]: {
                    "status": statuses[(number + 1) % 4], "markers": ["large"] if number % 2 else []}}
            if entry:
                config[base + ending] = entry
    return config


def read_config(folder: Path) -> dict[str, dict]:
    """The entries of a folder's files, of the little of YAML that the real configuration is written in; the later file wins."""
    def value(text: str) -> object:
        text = re.sub(r"\s+#.*$", "", text).strip()
        if text.startswith("["):
            return [item.strip().strip("\"'") for item in text.strip("[]").split(",") if item.strip()]
        return text.strip("\"'")

    config: dict[str, dict] = {}
    for file in sorted(folder.rglob("*.yaml")):
        within: list[tuple[int, object]] = [(-1, {})]  # Indent and mapping, from the outside in.
        pending = None
        for line in file.read_text().splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            indent, text = len(line) - len(line.lstrip()), line.strip()
            if text.startswith("- "):
                pending.append(value(text[2:]))
                continue
            while indent <= within[-1][0]:
                within.pop()
            key, rest = re.match(r'("[^"]*"|.+?):(?:\s+(.*))?$', text).groups()
            owner = within[-1][1]
            if rest and not rest.startswith("#"):
                owner[key.strip('"')] = value(rest)
                continue
            pending = [] if key in ("markers", "supported_archs", "filechecks") else {}
            owner[key.strip('"')] = pending
            if isinstance(pending, dict):
                within.append((indent, pending))
        config |= within[0][1].get("test_config", {})
    return config


def write_config(config: dict[str, dict], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def lines(mapping: dict, indent: int) -> list[str]:
        out = []
        for key, value in mapping.items():
            if isinstance(value, dict):
                out += [f"{' ' * indent}{key}:", *lines(value, indent + 2)]
            else:
                out.append(f"{' ' * indent}{key}: {'[' + ', '.join(value) + ']' if isinstance(value, list) else value}")
        return out

    (folder / "test_config_all.yaml").write_text("\n".join(["test_config:", *lines(config, 2), ""]))
    (folder / "test_config_placeholders.yaml").write_text("\n".join(
        ["PLACEHOLDER_MODELS:", *lines({f'"{name}"': {"bringup_status": "NOT_STARTED"} for name in PLACEHOLDERS}, 2), ""]))


def markers_of(suite: str, name: str, config: dict[str, dict], groups: dict[str, str], arch: str | None) -> set[str] | None:
    """Nothing for what is excluded."""
    markers = {"model_test", "no_auto_properties", "parametrize"}
    if suite == "placeholder":
        return markers | {"placeholder"}
    entry = dict(config.get(name, {}))
    entry |= entry.get("arch_overrides", {}).get(arch, {})
    status = entry.get("status", "unspecified").lower()
    if status == "exclude_model":
        return None
    markers |= {name.rsplit("-", 1)[1], status}
    if suite == "llm":
        markers |= {"llm", "tensor_parallel" if "tensor_parallel" in name else "single_device"}
    else:
        markers.add(name.rsplit("-", 2)[1])
    own = entry.get("markers", [])
    markers |= set(own)
    group = groups[model_path(name)]
    markers |= {group} - {"priority"}
    if not {"nightly", "weekly"} & set(own):
        markers.add("nightly" if group in ("red", "priority") else "weekly")
    if "bringup_status" in entry:
        markers.add(entry["bringup_status"].lower())
    for supported in entry.get("supported_archs") or ("n150", "p150"):
        markers |= {supported, supported.replace("-", "_")}
    if arch == "lb-blackhole" and name.startswith(LB_BLACKHOLE_SKIPS):
        markers.add("skip")
    return markers


def evaluate(expression: str, holds: Callable[[str], bool]) -> bool:
    """By Python itself: each word is replaced by whether it holds."""
    words = re.sub(r"[\w:+.\-/\[\]\\]+", lambda match: match[0] if match[0] in ("and", "or", "not") else str(holds(match[0])), expression)
    return eval(words, {"__builtins__": {}})  # nothing but True, False, and, or, not and parentheses is left


def select(names: list[str], config: dict[str, dict], groups: dict[str, str], keyword: str | None, markers: str | None,
           arch: str | None, placeholders: tuple[str, ...] = PLACEHOLDERS) -> list[str]:
    chosen = []
    for full in [*names, *(f"placeholder::{name}" for name in placeholders)]:
        suite, name = full.split("::", 1)
        marked = markers_of(suite, name, config, groups, arch)
        if marked is None:
            continue
        function = FUNCTIONS.get(suite) or ("test_all_models_jax" if "/jax-" in name else "test_all_models_torch")
        around = {f"{function}[{name}]", "tests", "runner", "test_models.py", "pytestmark", *marked}
        if keyword and not evaluate(keyword, lambda word: any(word.lower() in text.lower() for text in around)):
            continue
        if markers and not evaluate(markers, lambda word: word in marked):
            continue
        chosen.append(full)
    return chosen
