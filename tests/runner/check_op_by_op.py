#!/usr/bin/env python3
"""`cupel run --depth`: every status an operation can end in, the tables, and the reports over them, read back.

    check_op_by_op.py BIN

The planter (tests/planter) makes single operations fail, crash, hang or give wrong results. Prints a line for each failure and ends with
`N passed, N failed`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

BIN = Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
PLANTER = BIN.parent / "lib/planter_plugin.so"
CHECKS: list[Callable[[Path], None]] = []
UNARY = ("abs", "cosine", "exponential", "floor", "log_plus_one", "negate", "sine", "tanh")
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def program(folder: Path, name: str, operations: tuple[str, ...]) -> Path:
    """A chain of operations on 2x3 numbers, and twice the same sum at its end."""
    lines = [f"  %{i + 1} = stablehlo.{op} %{i} : tensor<2x3xf32>" for i, op in enumerate(operations)]
    last = len(operations)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("func.func @main(%0: tensor<2x3xf32>) -> tensor<2x3xf32> {\n" + "\n".join(lines) +
                               f"\n  %s = stablehlo.add %{last}, %{last} : tensor<2x3xf32>\n  %t = stablehlo.add %s, %{last} : tensor<2x3xf32>\n"
                               "  return %t : tensor<2x3xf32>\n}\n")
    return folder / name


def run(where: Path, *arguments: str | Path, device: str = "cupel?backend=cpu") -> tuple[int, str, dict[str, dict]]:
    """The exit code, what was printed, and the records by id."""
    done = subprocess.run([BIN / "cupel", "run", *map(str, arguments), "--device", device, "--results", where / "results", "--json", where / "run.json"],
                          capture_output=True, text=True, check=False, timeout=240, env=dict(os.environ, CUPEL_BACKEND="cpu"))
    records = {test["id"]: test for test in json.loads((where / "run.json").read_text())["tests"]} if (where / "run.json").exists() else {}
    return done.returncode, done.stdout + done.stderr, records


def table(folder: Path, name: str) -> dict[str, dict]:
    return json.loads((folder / f"{name}_unique_ops.json").read_text())


def workbook(path: Path) -> dict[str, list[dict[str, str]]]:
    """By sheet: its rows, by column letter; what a row is hidden or filled with stands under `hidden` and `fills`."""
    with zipfile.ZipFile(path) as archive:
        strings = [("".join(part.text or "" for part in item.iter(MAIN + "t"))) for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))]
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
        fills = [(fill.find(f".//{MAIN}fgColor").get("rgb", "") if fill.find(f".//{MAIN}fgColor") is not None else "") for fill in styles.find(MAIN + "fills")]
        formats = [fills[int(xf.get("fillId", 0))] for xf in styles.find(MAIN + "cellXfs")]
        names = [sheet.get("name") for sheet in ElementTree.fromstring(archive.read("xl/workbook.xml")).find(MAIN + "sheets")]
        sheets = {}
        for number, name in enumerate(names, 1):
            rows = []
            for row in ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml")).iter(MAIN + "row"):
                cells: dict[str, str] = {"hidden": row.get("hidden", "0")}
                for cell in row:
                    value = cell.find(MAIN + "v")
                    text = "" if value is None else value.text or ""
                    letter = re.match("[A-Z]+", cell.get("r"))[0]
                    cells[letter] = strings[int(text)] if cell.get("t") == "s" and text else text
                    cells["fill " + letter] = formats[int(cell.get("s", 0))]
                rows.append(cells)
            sheets[name] = rows
        return sheets


def column(rows: list[dict[str, str]], title: str) -> str:
    return next(letter for letter, text in rows[0].items() if text == title)


@check
def every_depth(where: Path) -> None:
    file = program(where, "small.mlir", ("tanh", "sine"))
    for depth, outcome, stages in (("stablehlo", "unjudged", {"load", "frontend"}), ("device-ir", "unjudged", {"load", "frontend", "compile"}),
                                   ("compile-op-by-op", "unjudged", {"compile"}), ("execute-op-by-op", "passed", {"compile", "compare"}),
                                   ("execute", "passed", {"compile", "execute", "compare"})):
        code, printed, records = run(where, file, "--depth", depth)
        test = records["small.mlir"]
        assert code == 0 and test["outcome"] == outcome, (depth, code, printed)
        assert stages <= {one["stage"] for one in test["stages"]}, (depth, test)
        if depth in ("stablehlo", "device-ir"):
            assert "execute" not in {one["stage"] for one in test["stages"]}, test
    code, printed, _ = run(where, file, "--depth", "everything")
    assert code == 2 and "execute-op-by-op" in printed, printed


@check
def a_table_says_what_there_is(where: Path) -> None:
    file = program(where, "small.mlir", ("tanh", "sine", "tanh"))
    tables = where / "tables"
    code, printed, records = run(where, file, "--depth", "execute-op-by-op", "--op-by-op-dir", tables)
    assert code == 0, printed
    ops = table(tables, "small_mlir")
    assert list(ops) == ["stablehlo.tanh_2x3xf32", "stablehlo.sine_2x3xf32", "stablehlo.add_2x3xf32_2x3xf32"], list(ops)
    assert ops["stablehlo.add_2x3xf32_2x3xf32"]["input_shapes"] == ["2x3", "2x3"] and ops["stablehlo.add_2x3xf32_2x3xf32"]["num_ops"] == 2, ops
    tanh = ops["stablehlo.tanh_2x3xf32"]
    assert tanh["num_ops"] == 2 and tanh["global_op_idx"] == 0 and ops["stablehlo.sine_2x3xf32"]["global_op_idx"] == 1, tanh
    assert tanh["compilation_status"] == 7 and tanh["status"] == "EXECUTED" and tanh["passed"] is True, tanh
    assert float(tanh["pcc"]) > 0.999 and float(tanh["atol"]) < 1e-5 and tanh["compile_seconds"] > 0, tanh
    assert tanh["input_shapes"] == ["2x3"] and tanh["input_tensors"][0]["data_type"] == "f32" and tanh["output_tensors"][0]["shape"] == [2, 3], tanh
    assert tanh["backend"] == "stablehlo" and tanh["model_name"] == "small.mlir" and "framework_op_name" not in tanh, tanh
    assert tanh["stable_hlo_ops"][0][1] == "stablehlo.tanh" and "stablehlo.tanh" in tanh["stable_hlo_graph"], tanh
    for field in ("model_group", "parsed_stable_hlo_ops", "torch_ir_graph", "ttir_graph", "ttnn_graph", "runtime_stack_dump", "compiled_json"):
        assert field in tanh, field
    assert records["small.mlir"]["notes"]["operations"].startswith("3 unique of 5: 3 EXECUTED"), records
    assert Path(records["small.mlir"]["notes"]["op table"]) == tables / "small_mlir_unique_ops.json", records


def planted(where: Path, file: Path, faults: dict[str, str]) -> Path:
    """A folder for the planter with what happens to each operation of a program. It knows them by their bytes, places in the file among them."""
    dump, folder = where / "dump", where / "faults"
    dump.mkdir()
    folder.mkdir()
    code, printed, _ = run(where, file, "--depth", "execute-op-by-op", device=f"{PLANTER}?dump={dump}")
    assert code == 0, printed
    keys = {}
    for found in dump.iterdir():
        text = subprocess.run([BIN / "cupel", "opt", found], capture_output=True, text=True, check=True).stdout
        operations = re.findall(r"stablehlo\.(\w+)", text)
        if len(operations) == 1 and "tensor<2x3xf32>" in text:
            keys[operations[0]] = found.stem
    assert set(UNARY) <= set(keys), keys
    for operation, what in faults.items():
        if what == "wrong":
            (folder / f"{keys[operation]}.mlir").write_text("func.func @main(%0: tensor<2x3xf32>) -> tensor<2x3xf32> {\n  %1 = stablehlo.negate %0 : tensor<2x3xf32>\n"
                                                           "  return %1 : tensor<2x3xf32>\n}\n")
        else:
            (folder / f"{keys[operation]}.does").write_text(what)
    return folder


FAULTS = {"abs": "wrong", "cosine": "compile-fails", "exponential": "compile-crashes", "floor": "execute-crashes", "log_plus_one": "execute-fails",
          "negate": "compile-hangs", "sine": "execute-hangs"}


@check
def each_operation_ends_by_itself(where: Path) -> None:
    programs, tables = where / "programs", where / "tables"
    faults = planted(where, program(programs, "all.mlir", UNARY), FAULTS)
    program(programs, "half.mlir", ("tanh", "cosine", "tanh"))
    program(programs, "right.mlir", ("tanh",))
    code, printed, records = run(where, programs, "--depth", "execute-op-by-op", "--op-by-op-dir", tables, "--op-timeout", "2", "-j", "1", device=f"{PLANTER}?programs={faults}")
    assert code == 1, printed
    assert [records[f"{name}.mlir"]["outcome"] for name in ("all", "half", "right")] == ["failed", "failed", "passed"], printed
    ops = {key.split("_2x3")[0].removeprefix("stablehlo."): op for key, op in table(tables, "all_mlir").items()}
    wanted = {"abs": (7, None), "cosine": (4, "failed"), "exponential": (4, "crashed"), "floor": (6, "crashed"), "log_plus_one": (6, "failed"),
              "negate": (4, "timed out"), "sine": (6, "timed out"), "tanh": (7, None)}
    for name, (status, failure) in wanted.items():
        assert (ops[name]["compilation_status"], ops[name].get("failure")) == (status, failure), (name, ops[name])
    assert ops["abs"]["passed"] is False and float(ops["abs"]["pcc"]) < 0.9 and ops["tanh"]["passed"] is True, ops["abs"]
    assert "signal 6" in ops["exponential"]["error"] and ops["floor"]["runtime_stack_dump"], ops["exponential"]
    assert "7 of 9 unique operations stop it" in records["all.mlir"]["message"], records["all.mlir"]["message"]
    assert records["all.mlir"]["last_stage"] == "compile" and records["half.mlir"]["message"].count("stablehlo.cosine") == 1, records
    # Found out once for all models of the run.
    assert "as tried in all.mlir" in table(tables, "half_mlir")["stablehlo.cosine_2x3xf32"]["remark"]
    reports(tables)


@check
def what_ends_behind_tensor_ir_says_so(where: Path) -> None:
    """A constant that no machine holds: it stands in tensor IR and in device IR as one number, and cannot be loaded."""
    where.mkdir(parents=True, exist_ok=True)
    huge = "tensor<100000x100000000xf32>"
    (where / "huge.mlir").write_text(f"func.func @main(%0: tensor<2x3xf32>, %i: tensor<i32>) -> tensor<2x3xf32> {{\n  %t = stablehlo.tanh %0 : tensor<2x3xf32>\n"
                                     f"  %c = stablehlo.constant dense<1.5> : {huge}\n"
                                     f"  %a = stablehlo.dynamic_slice %c, %i, %i, sizes = [2, 3] : ({huge}, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>\n"
                                     "  %b = stablehlo.add %a, %t : tensor<2x3xf32>\n  return %b : tensor<2x3xf32>\n}\n")
    code, printed, records = run(where, where / "huge.mlir", "--depth", "execute-op-by-op", "--op-by-op-dir", where / "tables")
    assert code == 1 and "1 of 3 unique operations stop it" in records["huge.mlir"]["message"], printed
    ops = {key.split("_")[0] + "_" + key.split("_")[1]: op for key, op in table(where / "tables", "huge_mlir").items()}
    slice_ = ops["stablehlo.dynamic_slice"]
    assert (slice_["compilation_status"], slice_["status"], slice_["failure"]) == (5, "CONVERTED_TO_TTIR", "failed"), slice_
    assert "out of memory" in slice_["error"] and "dynamic_slice" in slice_["ttir_graph"] and "the reference cannot evaluate it" in slice_["remark"], slice_
    # What stands behind it is still tried, with values that are made up.
    added = next(op for key, op in ops.items() if key.startswith("stablehlo.add"))
    assert added["compilation_status"] == 7 and "made up" in added["remark"], added


def reports(tables: Path) -> None:
    merged = json.loads((tables / "ops.json").read_text())
    ops = {op["key"]: op for op in merged["ops"]}
    assert ops["stablehlo.tanh_2x3xf32"]["num_ops"] == 4 and ops["stablehlo.tanh_2x3xf32"]["models"] == {"all.mlir": 1, "half.mlir": 2, "right.mlir": 1}, ops
    stops = {one["key"]: one["models"] for one in merged["stops"]}
    assert merged["stops"][0]["key"] == "stablehlo.cosine_2x3xf32" and stops["stablehlo.cosine_2x3xf32"] == ["all.mlir", "half.mlir"] and len(stops) == 7, stops
    models = {one["model"]: one for one in merged["models"]}
    assert models["all.mlir"]["statuses"] == [0, 0, 0, 0, 3, 0, 3, 3] and models["right.mlir"]["stopped_by"] == [], models

    text = (tables / "models.md").read_text()
    assert "| all.mlir | stablehlo | 9 | 33.3% | 33.3% | 33.3% | 1 |" in text and "| right.mlir | stablehlo | 2 | 0.0% | 0.0% | 100.0% | 0 |" in text, text
    assert "| stablehlo.cosine | 2x3xf32 | 4 | 2 | 2: all.mlir, half.mlir | failed:" in text.replace("\\", ""), text

    sheets = workbook(tables / "models_op_per_op.xlsx")
    assert list(sheets) == ["Per Model Compile Statuses", "All Ops", "All Ops (Not Executing)", "all_mlir", "half_mlir", "right_mlir", "AtenModelsPerOp",
                            "StableHLOModelsPerOp", "StableHLOOpssPerTorchOp"], list(sheets)
    rows = sheets["Per Model Compile Statuses"]
    assert [rows[0].get(letter) for letter in "ABCDK"] == ["Model", "Group", "Backend", "0: NOT_STARTED", "7: EXECUTED"], rows[0]
    of_all = next(row for row in rows if row.get("A") == "all.mlir")
    compiled, executed = column(rows, "Compiled to TTNN"), column(rows, "Executed on Device")
    assert of_all[column(rows, "Total Ops Per Model")] == "9" and of_all[compiled] == "6/9 (-3)" and of_all[executed] == "3/9 (-6)", of_all
    assert of_all[column(rows, "Timeouts")] == "2" and of_all[column(rows, "Unknown Errors")] == "0", of_all
    assert of_all["fill " + compiled] == "FFFFC000" and of_all["fill " + executed] == "FFFFC7CE", of_all
    of_right = next(row for row in rows if row.get("A") == "right.mlir")
    assert of_right["fill " + executed] == "FFC6EFCE" and of_right[executed] == "2/2", of_right
    totals = {row["A"]: row for row in rows if row.get("A")}
    assert totals["Total"]["K"] == "7" and totals["Models Total"]["B"] == "3" and totals["Models Fully Executing"]["B"] == "1", totals["Total"]
    assert totals["Device"]["B"].endswith("(execute-op-by-op)") and totals["Commit"], totals

    rows = sheets["All Ops"]
    tanh = next(row for row in rows if row.get("A") == "stablehlo.tanh")
    assert tanh[column(rows, "NumOps")] == "4" and tanh[column(rows, "Models")] == "3:all.mlir, half.mlir, right.mlir" and tanh["fill A"] == "", tanh
    cosine = next(row for row in rows if row.get("A") == "stablehlo.cosine")
    assert cosine["fill A"] == "FFFFEB9C" and cosine[column(rows, "Status")] == "4: CONVERTED_TO_STABLE_HLO" and cosine[column(rows, "Compile Error")].startswith("failed: "), cosine
    assert any(row.get("A") == "7: EXECUTED" and row.get("C") == "33.3%" for row in rows), rows[-9:]
    failing = {row["A"] for row in sheets["All Ops (Not Executing)"] if row.get("A", "").startswith("stablehlo.")}
    assert failing == {f"stablehlo.{name}" for name, what in FAULTS.items() if what != "wrong"}, failing

    rows = sheets["all_mlir"]
    assert rows[0]["A"] == "StableHLO Name" and [rows[0].get(letter) for letter in "EFGHI"] == ["Global Op Idx", "NumOps", "Status", "PCC", "ATOL"], rows[0]
    names = [row.get("A", "") for row in rows[1:]]
    assert names.count("stablehlo.add") == 1 and len(names) == 9, names
    crashed = next(row for row in rows if row.get("A") == "stablehlo.floor")
    assert crashed["fill A"] == "FFFFEB9C" and crashed[column(rows, "Status")] == "6: CONVERTED_TO_TTNN" and crashed[column(rows, "Trace dump")], crashed
    matrix = sheets["StableHLOModelsPerOp"]
    row = next(row for row in matrix if row.get("A") == "stablehlo.cosine")
    assert [matrix[0].get(letter) for letter in "BCD"] == ["all.mlir", "half.mlir", "right.mlir"] and [row.get(letter) for letter in "BCD"] == ["1", "1", "0"], row
    forms = workbook(tables / "stable_hlo_ops.xlsx")
    assert "stablehlo_tanh" in forms and [forms["stablehlo_tanh"][1].get(letter) for letter in "BEK"] == ["stablehlo.tanh", "2x3", "7"], list(forms)


@check
def compiling_alone_runs_nothing(where: Path) -> None:
    file, tables = program(where, "all.mlir", UNARY), where / "tables"
    faults = planted(where, file, {"floor": "execute-crashes", "cosine": "compile-fails"})
    code, printed, records = run(where, file, "--depth", "compile-op-by-op", "--op-by-op-dir", tables, device=f"{PLANTER}?programs={faults}")
    statuses = {op["op_name"]: op["compilation_status"] for op in table(tables, "all_mlir").values()}
    assert code == 1 and statuses.pop("stablehlo.cosine") == 4 and set(statuses.values()) == {6}, (printed, statuses)
    assert "1 of 9 unique operations stop it" in records["all.mlir"]["message"], records


@check
def what_has_no_turn_is_said(where: Path) -> None:
    file, tables = program(where, "all.mlir", UNARY), where / "tables"
    faults = planted(where, file, {"abs": "execute-hangs"})
    code, printed, records = run(where, file, "--depth", "execute-op-by-op", "--op-by-op-dir", tables, "--timeout", "5", device=f"{PLANTER}?programs={faults}")
    ops = {op["op_name"]: op for op in table(tables, "all_mlir").values()}
    assert code == 1 and records["all.mlir"]["outcome"] == "timed out" and "8 of 9 unique operations had no turn" in records["all.mlir"]["message"], printed
    assert ops["stablehlo.abs"]["compilation_status"] == 6 and ops["stablehlo.tanh"]["compilation_status"] == 0, ops


@check
def attributes_and_constants_tell_operations_apart(where: Path) -> None:
    (where / "two.mlir").write_text("""func.func @main(%0: tensor<2x2xf32>) -> tensor<2x2xf64> {
  %c = stablehlo.constant dense<2.0> : tensor<2x2xf32>
  %d = stablehlo.constant dense<3.0> : tensor<2x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.transpose %1, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.multiply %2, %c : tensor<2x2xf32>
  %4 = stablehlo.multiply %3, %d : tensor<2x2xf32>
  %5 = stablehlo.multiply %4, %c : tensor<2x2xf32>
  %6 = stablehlo.convert %5 : (tensor<2x2xf32>) -> tensor<2x2xf16>
  %7 = stablehlo.convert %5 : (tensor<2x2xf32>) -> tensor<2x2xf64>
  %8 = stablehlo.convert %6 : (tensor<2x2xf16>) -> tensor<2x2xf64>
  %9 = stablehlo.add %7, %8 : tensor<2x2xf64>
  return %9 : tensor<2x2xf64>
}
""")
    code, printed, _ = run(where, where / "two.mlir", "--depth", "execute-op-by-op", "--op-by-op-dir", where / "tables")
    ops = table(where / "tables", "two_mlir")
    counts = sorted((op["op_name"], op["num_ops"]) for op in ops.values() if op["op_name"] not in ("stablehlo.convert", "stablehlo.add"))
    assert sorted(key for key in ops if "convert" in key) == [f"stablehlo.convert_2x2x{a}_to_2x2x{b}" for a, b in (("f16", "f64"), ("f32", "f16"), ("f32", "f64"))], list(ops)
    assert code == 0 and counts == [("stablehlo.multiply", 1), ("stablehlo.multiply", 2), ("stablehlo.transpose", 1), ("stablehlo.transpose", 1)], (printed, counts)


@check
def what_comes_from_no_call_is_its_own_operation(where: Path) -> None:
    file = program(where, "small.mlir", ("tanh", "sine"))
    code, printed, _ = run(where, file, "--depth", "execute-op-by-op", "--op-by-op-backend", "torch", "--op-by-op-dir", where / "tables")
    ops = table(where / "tables", "small_mlir")
    assert code == 0 and len(ops) == 3 and all(op["backend"] == "torch" and "torch_name" not in op for op in ops.values()), (printed, ops)


@check
def the_reference_is_no_judge_of_itself(where: Path) -> None:
    file = program(where, "small.mlir", ("tanh",))
    code, printed, records = run(where, file, "--depth", "execute-op-by-op", device="reference")
    assert code == 1 and records["small.mlir"]["outcome"] == "unjudged", printed


@check
def what_the_reference_computed_is_told_of(where: Path) -> None:
    """Our compiler asks the reference for what depends on no argument."""
    where.mkdir(parents=True, exist_ok=True)
    (where / "eye.mlir").write_text("func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xi1>, tensor<4x4xf32>) {\n  %i = stablehlo.iota dim = 0 : tensor<4x4xi64>\n  %j = stablehlo.iota dim = 1 : tensor<4x4xi64>\n"
                                    "  %e = stablehlo.compare EQ, %i, %j : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>\n  %t = stablehlo.tanh %x : tensor<4x4xf32>\n"
                                    "  return %e, %t : tensor<4x4xi1>, tensor<4x4xf32>\n}\n")
    code, printed, records = run(where, where / "eye.mlir", "--depth", "execute-op-by-op")
    assert records["eye.mlir"]["outcome"] == "unjudged", printed
    assert records["eye.mlir"]["message"] == "every operation executes; 1 of 2 are not judged: the reference's kernel computed both sides", records["eye.mlir"]["message"]


def main() -> int:
    passed = failed = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
