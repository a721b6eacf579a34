"""Standalone code from outside: models, names, structure, and inputs that are bad. check_codegen.py BIN [--full]

--full: also what takes minutes.
The last line is `N passed, N failed`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from running import run_all, sum_of_arguments

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CUPEL = Path(sys.argv[1]) / "cupel"

LAYERS = 5


def cupel(*arguments: str | Path, **options) -> subprocess.CompletedProcess:
    return subprocess.run([CUPEL, *map(str, arguments)], capture_output=True, text=True, **options)


def generate(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess:
    file = folder / "program.mlir"
    file.write_text(program)
    return cupel("codegen", "py", file, "-o", folder / "out", *options)


def run(folder: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([folder / "out/run", *options], capture_output=True, text=True, env=dict(os.environ, PYTHON=sys.executable))


def refused(done: subprocess.CompletedProcess, folder: Path, *words: str) -> None:
    assert done.returncode in (1, 2), done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), done.stderr
    assert not list(folder.glob("out*")), list(folder.iterdir())


def layers() -> str:
    """The same block several times, each with weights of its own."""
    arguments = ", ".join(f'%w{i}: tensor<8x8xf32> loc("layers.{i}.weight"), %b{i}: tensor<8xf32> loc("layers.{i}.bias")' for i in range(LAYERS))
    lines = [f"func.func @main(%x: tensor<4x8xf32>, {arguments}) -> tensor<4x8xf32> {{", "  %h0 = stablehlo.cosine %x : tensor<4x8xf32>"]
    for i in range(LAYERS):
        lines += [
            f"  %d{i} = stablehlo.dot_general %h{i}, %w{i}, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>",
            f"  %s{i} = stablehlo.broadcast_in_dim %b{i}, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>",
            f"  %a{i} = stablehlo.add %d{i}, %s{i} : tensor<4x8xf32>",
            f"  %t{i} = stablehlo.tanh %a{i} : tensor<4x8xf32>",
            f"  %m{i} = stablehlo.multiply %t{i}, %a{i} : tensor<4x8xf32>",
            f"  %n{i} = stablehlo.logistic %m{i} : tensor<4x8xf32>",
            f"  %h{i + 1} = stablehlo.add %h{i}, %n{i} : tensor<4x8xf32>",
        ]
    return "\n".join([*lines, f"  return %h{LAYERS} : tensor<4x8xf32>", "}"])


ADD = "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {{\n  %0 = stablehlo.{op} %a, %b : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}"


def repeated_blocks_are_one_function(folder: Path) -> None:
    assert generate(layers(), folder).returncode == 0
    text = (folder / "out/main.py").read_text()
    assert len(re.findall(r"^def block\(", text, re.M)) == 1, text
    assert len(re.findall(r"= block\(", text)) == LAYERS, text
    assert text.count("tanh(") == 1 and "weight" in text, text
    assert (folder / "out/irs/shlo_blocks.mlir").is_file()
    checked(folder)


def a_value_of_one_block_may_be_a_constant_of_all(folder: Path) -> None:
    """What the first block adds is what every block compares with; the others add something else."""
    shape = "tensor<8xf32>"
    lines = [f"func.func @main(%h0: {shape}) -> {shape} {{", f"  %zero = stablehlo.constant dense<0.0> : {shape}", f"  %one = stablehlo.constant dense<1.0> : {shape}"]
    for i, added in enumerate(("zero", "one", "one")):
        lines += [f"  %a{i} = stablehlo.add %h{i}, %{added} : {shape}", f"  %b{i} = stablehlo.cosine %a{i} : {shape}", f"  %c{i} = stablehlo.maximum %b{i}, %zero : {shape}",
                  f"  %d{i} = stablehlo.tanh %c{i} : {shape}", f"  %e{i} = stablehlo.subtract %d{i}, %{added} : {shape}", f"  %f{i} = stablehlo.minimum %e{i}, %zero : {shape}",
                  f"  %h{i + 1} = stablehlo.add %f{i}, %h{i} : {shape}"]  # fmt: skip
    assert generate("\n".join([*lines, f"  return %h3 : {shape}", "}"]), folder).returncode == 0
    assert (folder / "out/main.py").read_text().count("= block(") == 3, (folder / "out/main.py").read_text()
    checked(folder)


def narrow_floats_are_checked_bit_by_bit(folder: Path) -> None:
    program = ("func.func @main(%a: tensor<40xbf16>, %b: tensor<40xf16>) -> (tensor<40xbf16>, tensor<40xf16>) {\n  %0 = stablehlo.exponential %a : tensor<40xbf16>\n"
               "  %1 = stablehlo.tanh %b : tensor<40xf16>\n  return %0, %1 : tensor<40xbf16>, tensor<40xf16>\n}")
    assert generate(program, folder).returncode == 0
    checked(folder)


def a_saved_workload_is_a_program_with_its_inputs(folder: Path) -> None:
    (folder / "program.mlir").write_text(ADD.format(op="subtract"))
    saved = cupel("eval", folder / "program.mlir", "--save-workload", folder / "saved", "--seed", "7")
    assert saved.returncode == 0, saved
    place = next((folder / "saved").rglob("program.mlirbc")).parent
    done = cupel("codegen", "py", f"{place}/", "-o", folder / "out")
    assert done.returncode == 0, done

    def payload(file: Path) -> bytes:
        contents = file.read_bytes()
        return contents[8 + int.from_bytes(contents[:8], "little") :]

    assert payload(place / "inputs.safetensors") == payload(folder / "out/tensors/inputs.safetensors") != b""
    checked(folder)


def checked(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "cupel.codegen", folder / "out", "--check"], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python"), CUPEL_COMMAND=str(CUPEL)))
    assert done.returncode == 0 and "from the original" in done.stdout, done


def an_edit_that_changes_results_is_noticed(folder: Path) -> None:
    assert generate(ADD.format(op="add"), folder).returncode == 0
    checked(folder)
    main = folder / "out/main.py"
    main.write_text(main.read_text().replace(" + ", " - ", 1))
    done = subprocess.run([sys.executable, "-m", "cupel.codegen", folder / "out", "--check"], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python"), CUPEL_COMMAND=str(CUPEL)))
    assert done.returncode == 1 and "differs from the program" in done.stderr, done


def the_folder_is_whole(folder: Path) -> None:
    assert generate(ADD.format(op="add"), folder).returncode == 0
    out = folder / "out"
    manifest = json.loads((out / "manifest.json").read_text())
    assert all((out / file).is_file() for file in manifest["files"]), manifest
    assert manifest["generator"] == "cupel codegen" and len(manifest["inputs"]) == 2
    assert os.access(out / "run", os.X_OK)
    for stage in sorted((out / "irs").glob("*.mlir")):
        assert cupel("eval", stage, "--args", "random").returncode == 0, stage
    done = run(folder, "--save", str(folder / "result.safetensors"))
    assert done.returncode == 0 and "output0: f32[2]" in done.stdout and (folder / "result.safetensors").is_file(), done


def without_tensors_inputs_are_ones(folder: Path) -> None:
    assert generate(ADD.format(op="add"), folder, "--option", "export_tensors=false").returncode == 0
    assert not (folder / "out/tensors").exists()
    assert "[2. 2.]" in run(folder).stdout


def generated_folders_are_replaced_and_others_are_not(folder: Path) -> None:
    assert generate(ADD.format(op="add"), folder).returncode == 0
    assert generate(ADD.format(op="multiply"), folder).returncode == 0
    assert " * " in (folder / "out/main.py").read_text()
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()
    (folder / "out/thesis.txt").write_text("mine")
    done = generate(ADD.format(op="add"), folder)
    assert done.returncode == 2 and "was not generated" in done.stderr and os.listdir(folder / "out") == ["thesis.txt"], done
    done = cupel("codegen", "py", folder / "program.mlir", "-o", "/proc/nowhere")
    assert done.returncode == 2 and "/proc/nowhere: no folder can be made there" in done.stderr, done


def what_cannot_be_written_is_refused_by_name(folder: Path) -> None:
    call = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.custom_call @foreign(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    refused(generate(call, folder), folder, "custom call of @foreign", "program.mlir:2")
    gather = ('func.func @main(%a: tensor<2xf32>) -> tensor<4xf32> {\n  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, '
              "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}")
    refused(generate(gather, folder), folder, "stablehlo.all_gather")


def paths_that_cannot_be_written(folder: Path) -> None:
    file = folder / "program.mlir"
    file.write_text(ADD.format(op="add"))
    (folder / "file").write_text("")
    done = cupel("codegen", "py", file, "-o", folder / "file/below")
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done
    done = cupel("codegen", "py", file, "-o", folder / "file")
    assert done.returncode == 2 and "no folder" in done.stderr, done
    if os.getuid() != 0:
        os.chmod(folder, 0o500)
        done = cupel("codegen", "py", file, "-o", folder / "out")
        os.chmod(folder, 0o700)
        assert done.returncode == 2 and not (folder / "out").exists(), done


def a_full_disk_leaves_nothing(folder: Path) -> None:
    file = folder / "program.mlir"
    file.write_text(layers())
    # A limit on the size of files is what a full disk looks like to a writer.
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 4; exec {CUPEL} codegen py {file} -o {folder}/out"], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done
    assert not list(folder.glob("out*")), list(folder.iterdir())


def names_that_are_no_identifiers(folder: Path) -> None:
    names = ["class", "a b", "1x", "é\\22", "forward", "x/y", "", "a.b", "a_b", "None"]
    arguments = ", ".join(f'%a{i}: tensor<2xf32> loc("{name}")' for i, name in enumerate(names) if name)
    program = f"func.func @main({arguments}) -> tensor<2xf32> {{\n  %0 = call @\"my function!\"(%a0, %a1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}\n"
    program += "func.func private @\"my function!\"(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %x, %y : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    done = generate(program, folder)
    assert done.returncode == 0, done
    checked(folder)


def ten_thousand_arguments(folder: Path) -> None:
    done = generate(sum_of_arguments(10_000), folder)
    assert done.returncode == 0, done.stderr[:500]
    done = run(folder)
    assert done.returncode == 0 and "output0" in done.stdout, done.stderr[-500:]


def many_constants(folder: Path) -> None:
    count = 5_000
    lines = ["func.func @main() -> tensor<20xi64> {", "  %s0 = stablehlo.constant dense<0> : tensor<20xi64>"]
    for i in range(count):
        values = ", ".join(str(i + k) for k in range(20))
        lines += [f"  %c{i} = stablehlo.constant dense<[{values}]> : tensor<20xi64>", f"  %s{i + 1} = stablehlo.add %s{i}, %c{i} : tensor<20xi64>"]
    done = generate("\n".join([*lines, f"  return %s{count} : tensor<20xi64>", "}"]), folder)
    assert done.returncode == 0, done.stderr[:500]
    done = run(folder)
    assert done.returncode == 0 and str(sum(range(count))) in done.stdout, (done.stdout[-300:], done.stderr[-300:])


def a_million_constants(folder: Path) -> None:
    count = 1_000_000
    with (folder / "program.mlir").open("w") as file:
        file.write("func.func @main() -> tensor<i64> {\n  %s0 = stablehlo.constant dense<0> : tensor<i64>\n")
        for i in range(count):
            file.write(f"  %c{i} = stablehlo.constant dense<{i}> : tensor<i64>\n  %s{i + 1} = stablehlo.add %s{i}, %c{i} : tensor<i64>\n")
        file.write(f"  return %s{count} : tensor<i64>\n}}\n")
    done = cupel("codegen", "py", folder / "program.mlir", "-o", folder / "out", timeout=900)
    assert done.returncode == 0 and f"{2 * count + 2} operations" in done.stdout, (done.stdout, done.stderr[:500])
    manifest = json.loads((folder / "out/manifest.json").read_text())
    assert all((folder / "out" / file).is_file() for file in manifest["files"]), manifest


def options_that_are_none(folder: Path) -> None:
    refused(generate(ADD.format(op="add"), folder, "--option", "export_tensor=1"), folder, "export_tensors")
    refused(generate(ADD.format(op="add"), folder, "--option", "export_tensors=perhaps"), folder, "true or false")


def main() -> int:
    tests = [repeated_blocks_are_one_function, a_value_of_one_block_may_be_a_constant_of_all, narrow_floats_are_checked_bit_by_bit,
             a_saved_workload_is_a_program_with_its_inputs, an_edit_that_changes_results_is_noticed, the_folder_is_whole, without_tensors_inputs_are_ones,
             generated_folders_are_replaced_and_others_are_not, what_cannot_be_written_is_refused_by_name, paths_that_cannot_be_written,
             a_full_disk_leaves_nothing, names_that_are_no_identifiers, ten_thousand_arguments, many_constants, options_that_are_none]
    return run_all([*tests, a_million_constants] if "--full" in sys.argv else tests)


if __name__ == "__main__":
    sys.exit(main())
