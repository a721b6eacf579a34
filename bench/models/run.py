#!/usr/bin/env python3
"""Models on the compiled device and on its peers: bench/models/run.py BIN [--threads 1,2] [--only WORD] [--against PEER,...] [--strict] [--json F [--table]].

Makes the models of nets.py once (FOLDER/NAME.pt2 and .onnx), measures each with `cupel bench`, and prints a row for each: times, the ratio to
the best peer beside its goal, compilation (also against the second time, with the cache on disk) and memory. Yardstick: the best of
the peers that can be imported, in the same session; of rows that end in `@bf16` or `@bf16/bf16`, which run with that precision, OpenVINO's bf16 mode, and of those that end
in `.bfloat16`, programs written in bf16, that and torch. `--strict` demands that all goals are met. `--json F` keeps what was measured; rows that
are there already and are not measured again stay, so that a table can be made in several rounds. `--table` writes the ratios of F, with
the kind of processor and without times, into bench/README.md; with `--threads ""` it measures nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIE = 1.05
COMPILED = ("resnet50", "bert_base_s128")


def make(name: str, folder: Path) -> str:
    """Writes the files of a model, in a process of its own; a sentence where that failed."""
    if (folder / f"{name}.pt2").exists():
        return ""
    done = subprocess.run([sys.executable, HERE / "make.py", name, folder], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["cannot be made"])[-1]


def measure(options: argparse.Namespace, name: str, threads: int) -> dict:
    model, _, precision = name.partition("@")
    device, against = options.device, options.against
    if precision:
        device, against = f"{device}{'&' if '?' in device else '?'}precision={precision}", f"openvino_{precision.partition('/')[0]}" if against else ""
    if name.endswith(".bfloat16") and against:
        against = "openvino_bf16,torch"
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [options.bin / "cupel", "bench", options.folder / f"{model}.pt2", "--threads", str(threads), "--seconds", str(options.seconds), "--rounds", str(options.rounds),
                   "--device", device, "--python", sys.executable, "--json", report.name]
        if against:
            command += ["--against", against]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            model = json.loads(Path(report.name).read_text())["models"][0]
        except (ValueError, LookupError):
            return {"failure": (done.stderr.strip().splitlines() or ["no report"])[-1]}
        return model


def row(name: str, model: dict, goal: float | None, options: argparse.Namespace) -> tuple[str, bool]:
    """The line of a row, and whether its goal was met."""
    if "failure" in model:
        return f"{name:22} failed: {model['failure']}", False
    ours = model["contestants"][0]
    if "p50_seconds" not in ours or ours.get("wrong"):
        return f"{name:22} failed: {ours.get('failure', 'its results are wrong')}", False
    line = f"{name:22} {model['threads']:>2} {ours['p50_seconds'] * 1e3:9.3f} {ours['min_seconds'] * 1e3:9.3f} {ours.get('of_peak_flops', 0):5.0%}"
    line += f" {ours['compile_seconds'] * 1e3:8.0f} {ours['recompile_seconds'] * 1e3:7.0f} {ours.get('peak_bytes', 0) / 1e6:8.0f}"
    good = True
    if "best_peer" in model:
        ratio, by_min = ours["ratio_to_best_peer"], ours["ratio_to_best_peer_min"]
        line += f"  {ratio:5.2f} {by_min:5.2f} {model['best_peer']:<12}"
        if goal is not None:
            good = ratio <= goal * (TIE if goal == 1 else 1)
            line += f" goal {goal:.2f} {'' if good else 'MISSED'}"
        peers = [one for one in model["contestants"] if one["peer"] and "p50_seconds" in one]
        if name in COMPILED and (vino := next((one for one in peers if one["name"] == "openvino"), None)):
            good = compare(f"{name} compile", ours["compile_seconds"], vino["compile_seconds"], 1.0, options) and good
            good = compare(f"{name} compile again", ours["recompile_seconds"], vino["compile_seconds"], 0.2, options) and good
        if goal == 1 and (ort := next((one for one in peers if one["name"] == "onnxruntime" and "peak_bytes" in one), None)):
            good = compare(f"{name} memory", ours["peak_bytes"], ort["peak_bytes"], 1.0, options) and good
    return line.rstrip(), good


def compare(what: str, ours: float, theirs: float, goal: float, options: argparse.Namespace) -> bool:
    good = ours <= goal * theirs
    options.more.append(f"{what:32} {ours / theirs:5.2f} goal {goal:.2f} {'' if good else 'MISSED'}".rstrip())
    return good


def processor() -> str:
    """Its kind: family and model as the system names them, and the widest vectors it has."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    fact = {name: found[1] for name in ("model name", "cpu family", "model", "flags") if (found := re.search(rf"^{name}\s*: (.*)$", text, re.M))}
    flags = fact.get("flags", "").split()
    has = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{fact.get('model name', 'unknown')} (family {fact.get('cpu family', '?')}, model {fact.get('model', '?')}; {', '.join(has) or 'no vectors known'})"


def table(models: list[dict], goals: dict[str, float]) -> str:
    """What the README says: a line for each row, ratios alone."""
    threads = sorted({model["threads"] for model in models})
    lines = [f"Measured on {processor()}. Time of our device over the best peer's, medians (least times in brackets).", "",
             "| model | " + " | ".join(f"{count} thread{'s' * (count > 1)}" for count in threads) + " | goal |", "|---" * (len(threads) + 2) + "|"]
    for name in dict.fromkeys(model["name"] for model in models):
        cells = []
        for count in threads:
            model = next((one for one in models if one["name"] == name and one["threads"] == count), None)
            ours = (model or {}).get("contestants", [{}])[0]
            known = "ratio_to_best_peer" in ours
            cells.append(f"{ours['ratio_to_best_peer']:.2f} ({ours['ratio_to_best_peer_min']:.2f}) {model['best_peer']}" if known else "")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {f'{goals[name]:.2f}' if name in goals else ''} |")
    return "\n".join(lines)


def write_table(readme: Path, text: str) -> None:
    """Between two marks, which stay."""
    begin, end = "<!-- bench/models begins -->", "<!-- bench/models ends -->"
    whole = readme.read_text()
    if begin not in whole or end not in whole:
        whole = whole.rstrip() + f"\n\n## Models\n\n{begin}\n{end}\n"
    head, rest = whole.split(begin, 1)
    readme.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end, 1)[1]}")


def main() -> int:
    sys.path.insert(0, str(HERE))
    import nets

    rows = (*nets.TABLE, *nets.IN_BF16, *nets.WRITTEN_IN_BF16, *nets.OTHERS)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="folder of the binaries")
    parser.add_argument("--folder", type=Path, help="where models are made and kept (BIN/../bench-models)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, a row each")
    parser.add_argument("--only", default="", help="rows whose names hold this word; several: a,b")
    parser.add_argument("--against", default="onnxruntime,openvino,torch,xla")
    parser.add_argument("--device", default="cupel?backend=cpu")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a goal is missed")
    parser.add_argument("--table", type=Path, nargs="?", const=HERE.parent / "README.md", metavar="FILE", help="write the ratios in the file of --json into a page (bench/README.md)")
    options = parser.parse_args()
    if options.table and not options.json:
        parser.error("--table needs --json, the file with what was measured")
    options.folder = options.folder or options.bin.resolve().parent / "bench-models"
    options.folder.mkdir(parents=True, exist_ok=True)
    options.more = []
    words = options.only.split(",")
    names = [name for name in rows if any(word in name for word in words)]
    goals = {name: goal for name, (_, goal) in nets.TABLE.items()} | nets.IN_BF16 | nets.WRITTEN_IN_BF16
    if not names:
        print(f"no row has a name with '{options.only}'", file=sys.stderr)
        return 2
    counts = [int(count) for count in options.threads.split(",") if count]
    missed, everything = 0, []
    print(f"{'model':22} {'t':>2} {'p50 ms':>9} {'min ms':>9} {'peak':>5} {'compile':>8} {'again':>7} {'mem MB':>8}  ratio (min) to the best peer")
    for name in names:
        if counts and (problem := make(name.partition("@")[0], options.folder)):
            print(f"{name:22} is not made: {problem}", flush=True)
            missed += 1
            continue
        for threads in counts:
            model = measure(options, name, threads)
            everything.append(model | {"name": name, "threads": threads})
            line, good = row(name, model, goals.get(name), options)
            missed += not good
            print(line, flush=True)
    print("\n".join(options.more))
    if options.json:
        again = {(model["name"], model["threads"]) for model in everything}
        before = json.loads(options.json.read_text())["models"] if options.json.exists() else []
        everything = [model for model in before if (model["name"], model["threads"]) not in again] + everything
        options.json.write_text(json.dumps({"models": everything}, indent=1) + "\n")
    if options.table:
        order = list(rows)
        everything.sort(key=lambda model: order.index(model["name"]) if model["name"] in order else len(order))
        write_table(options.table, table(everything, goals))
    print(f"{len(names)} models, {missed} rows missed a goal or failed")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
