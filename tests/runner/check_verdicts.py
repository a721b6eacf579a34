"""Checks of the verdicts of `cupel run` from outside: what is judged and by what, what is explained, and golden results that are computed once.

usage: check_verdicts.py BUILD/bin [--mode quick|default|full] [--only WORD]. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from runs import CUPEL, DOUBLE, PASSING, Place, check, expect, main, plugin, report, safetensors


@check
def unjudged_is_not_passed(place: Place) -> None:
    """A run of which nothing was judged is not green; beside a judged test an unjudged one is named, and --strict makes it count."""
    place.program("double.mlir", DOUBLE)
    result, tests = report(place, place.programs, "--junitxml", place.folder / "junit.xml")
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["outcome"] == "unjudged" and test["bringup_status"] == "UNKNOWN", result.stdout)
    expect("no test of this run was judged" in result.stdout and "UNJUDGED: 1 test ran" in result.stdout, result.stdout)
    skipped = ElementTree.parse(place.folder / "junit.xml").find(".//testcase/skipped")
    expect(skipped is not None and skipped.get("message").startswith("unjudged: no expectation"), "JUnit")
    place.program("pass.mlir", PASSING)
    result = place.run(place.programs)
    expect(result.returncode == 0 and "1 passed, 1 unjudged" in result.stdout and "programs::double.mlir no expectation" in result.stdout, result.stdout)
    expect(place.run(place.programs, "--strict").returncode == 1, "--strict")


@check
def the_bundled_programs_are_judged(place: Place) -> None:
    """Each by values from elsewhere, on the reference as on our plugin."""
    plugin("pjrt_plugin_cupel.so")
    for device in ("reference", "cupel"):
        result, tests = report(place, Path(__file__).resolve().parents[2] / "zoo/programs", "--device", device, "--strict")
        expect(result.returncode == 0 and len(tests) >= 13, f"{device}: {result.stdout}")
        others = {id: test["outcome"] for id, test in tests.items() if test["outcome"] != "passed" or test["notes"]["expectation"] != "the file beside it"}
        expect(not others, f"{device}: {others}")


@check
def failures_are_explained_by_the_operation_to_blame(place: Place) -> None:
    """A device on which exponentials go through bfloat16: that operation is to blame, and is saved alone."""
    steps = ["abs %x : tensor<8xf32>", "negate %0 : tensor<8xf32>", "convert %1 : (tensor<8xf32>) -> tensor<8xf64>", "abs %2 : tensor<8xf64>",
             "exponential %3 : tensor<8xf64>", "negate %4 : tensor<8xf64>", "sqrt %6 : tensor<8xf64>"]
    body = "".join(f"  %{i if i < 6 else 7} = stablehlo.{step}\n" for i, step in enumerate(steps)).replace("  %7", "  %6 = stablehlo.abs %5 : tensor<8xf64>\n  %7")
    place.program("doubles.mlir", f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf64> {{\n{body}  return %7 : tensor<8xf64>\n}}\n")
    # An architecture that holds f64 in f32 is off in whatever it hands over: no operation is to blame.
    _, tests = report(place, place.programs, "--device", "n300", "--precision", "f32/f32/f64", "--explain", 1)
    test = next(iter(tests.values()))
    expect(test["outcome"] == "failed" and "guilty" not in test["notes"] and "no operation" in test["notes"]["explained"], test["notes"])
    narrow = ("--device", f"{plugin('operation_planter.so')}?op=stablehlo.exponential&effect=narrow")
    result, tests = report(place, place.programs, *narrow, "--explain", 1, "--junitxml", place.folder / "junit.xml", "--markdown", place.folder / "page.md")
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["outcome"] == "failed" and test["notes"].get("guilty") == "stablehlo.exponential", test)
    expect("doubles.mlir:6:" in test["notes"]["explained"] and "alone is wrong" in test["notes"]["explained"], test["notes"])
    expect("explained: stablehlo.exponential" in result.stdout and 'name="guilty" value="stablehlo.exponential"' in (place.folder / "junit.xml").read_text(), result.stdout)
    page = (place.folder / "page.md").read_text()
    expect("### Explained" in page and "explained: stablehlo.exponential" in page, page)
    # What is known already leaves its turn to a failure that is new.
    place.program("later.mlir", "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = stablehlo.exponential %x : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n")
    _, both = report(place, place.programs, *narrow, "--explain", 1, "-j", 1)
    expect(len(both) == 2 and all("explained" in one["notes"] for one in both.values()), both)
    (place.programs / "later.mlir").unlink()
    again, reduced = report(place, test["notes"]["reduced"], *narrow)
    expect(again.returncode == 1 and next(iter(reduced.values()))["error_class"] == "wrong_result", again.stdout)
    # Where nothing fails, nothing is explained; nor without being asked.
    expect("explained" not in report(place, place.programs, *narrow)[0].stdout, "not asked")


@check
def narrow_devices_are_judged_piece_by_piece(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    programs = Path(__file__).resolve().parents[2] / "zoo/programs"
    _, tests = report(place, programs, "--device", "cupel", "--precision", "bf16")
    by_pieces = {id: test["notes"].get("by pieces", "") for id, test in tests.items()}
    expect(sum("pieces are right when they are fed right values" in note for note in by_pieces.values()) >= 10, by_pieces)
    _, tests = report(place, programs, "--device", "cupel")
    expect(not any("by pieces" in test["notes"] for test in tests.values()), "f32 devices are judged whole")
    _, tests = report(place, programs / "mlp.mlir", "--device", "cupel", "--pieces", 3)
    expect(next(iter(tests.values()))["notes"]["by pieces"].startswith("3 of 3 pieces are right"), tests)
    # Who asks for pieces is told where there are none.
    (place.folder / "checks_itself.mlir").write_text(PASSING)
    result, _ = report(place, place.folder / "checks_itself.mlir", programs / "mlp.mlir", "--device", "cupel", "--pieces", 3)
    said = json.loads((place.folder / "report.json").read_text())["summary"]["not_judged_by_pieces"]
    expect(said == {"it checks itself": 1} and "1 test was not judged by pieces, as a whole alone: it checks itself" in result.stdout, result.stdout)


@check
def what_outputs_that_rounding_decides_hide_is_judged_piece_by_piece(place: Place) -> None:
    """An output that rounding decides passes whatever computed it: what no other output shows is fed right values and judged alone, on precise devices too."""
    lines = ["%big = stablehlo.constant dense<8.0e+06> : tensor<16x16xf32>", "%0 = stablehlo.add %x, %big : tensor<16x16xf32>", "%1 = stablehlo.subtract %0, %big : tensor<16x16xf32>",
             "%2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>", "%3 = stablehlo.tanh %w : tensor<16x16xf32>"]
    place.program("decided.mlir", "func.func @main(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {\n  " + "\n  ".join(lines)
                  + "\n  return %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>\n}\n")
    planter = plugin("operation_planter.so")

    def ran(*arguments: str) -> dict:
        return next(iter(report(place, place.programs, "--device", *arguments)[1].values()))

    negated = f"{planter}?op=stablehlo.dot_general&effect=negate"
    test = ran(negated)
    expect(test["outcome"] == "failed" and test["error_class"] == "wrong_result" and "is wrong when it is fed right values" in test["message"], test)
    expect(test["comparisons"][0]["noise"] > 0.25 and all(one["passed"] for one in test["comparisons"]), test["comparisons"])
    expect(ran(negated, "--pieces", "0")["outcome"] == "passed", "as a whole it is within its noise")
    # So is what makes the noise itself: of the sum that is handed to it, a difference is exact.
    scaled = f"{planter}?op=stablehlo.subtract&effect=scale"
    expect(ran(scaled)["outcome"] == "failed" and ran(scaled, "--pieces", "0")["outcome"] == "passed", "a difference that is a quarter too large")
    # A right device gives what is expected, and nothing is left to ask.
    test = ran(f"{planter}?right=reassociated")
    expect(test["outcome"] == "passed" and "by pieces" not in test["notes"], test)


@check
def what_cancels_from_outputs_that_tell_is_judged_piece_by_piece(place: Place) -> None:
    """One output is divided by its largest element, and a wrong factor cancels from it; rounding decides the other one, so that nobody speaks of what both are made of.
    It stands with the operations that make the noise in one piece, whose results tell nothing either, or in front of them."""
    planter, matrix = plugin("operation_planter.so"), "tensor<64x64xf32>"
    first = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>", f"%a = stablehlo.tanh %x : {matrix}", f"%m = stablehlo.abs %a : {matrix}",
             f"%most = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : ({matrix}, tensor<f32>) -> tensor<f32>",
             f"%mb = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> {matrix}", f"%n0 = stablehlo.divide %a, %mb : {matrix}"]
    # So long that the rest is one piece of 24.
    long = [f"%n{i + 1} = stablehlo.sine %n{i} : {matrix}" for i in range(144)]
    last = [f"%big = stablehlo.constant dense<8.0e+06> : {matrix}", f"%0 = stablehlo.add %w, %big : {matrix}", f"%1 = stablehlo.subtract %0, %big : {matrix}",
            f"%e = stablehlo.exponential %1 : {matrix}", f"%2 = stablehlo.dot_general %1, %a, contracting_dims = [1] x [0] : ({matrix}, {matrix}) -> {matrix}", f"%3 = stablehlo.multiply %2, %e : {matrix}"]
    place.program("cancels.mlir", f"func.func @main(%x: {matrix}, %w: {matrix}) -> ({matrix}, {matrix}) {{\n  " + "\n  ".join(first + long + last) + f"\n  return %n144, %3 : {matrix}, {matrix}\n}}\n")

    def ran(rule: str, *arguments: str) -> dict:
        return next(iter(report(place, place.programs, "--device", f"{planter}?{rule}", *arguments)[1].values()))

    for rule in ("op=stablehlo.tanh&effect=scale", "op=stablehlo.dot_general&effect=negate"):
        test = ran(rule)
        expect(test["outcome"] == "failed" and "is wrong when it is fed right values" in test["message"], test)
        expect([one["passed"] for one in test["comparisons"]] == [True, True] and test["comparisons"][1]["noise"] > 0.25, test["comparisons"])
        expect(ran(rule, "--pieces", "0")["outcome"] == "passed", "as a whole it is within its noise")
    for rule in ("right=reassociated", "right=fast"):
        test = ran(rule)
        expect(test["outcome"] == "passed", test)


@check
def small_parts_of_an_output_are_judged_by_themselves(place: Place) -> None:
    """Boxes of hundreds and scores of about one in one tensor, as detectors give them: limits of all follow from the boxes, and scores that are negated or zero are within them."""
    planter = plugin("operation_planter.so")
    boxes, scores, both = "tensor<400x4xbf16>", "tensor<400x80xbf16>", "tensor<400x84xbf16>"
    lines = [f"%k = stablehlo.constant dense<300.0> : {boxes}", f"%a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<400x64xbf16>, tensor<64x4xbf16>) -> {boxes}",
             f"%s = stablehlo.sine %a : {boxes}", f"%b = stablehlo.multiply %s, %k : {boxes}",
             f"%c = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<400x64xbf16>, tensor<64x80xbf16>) -> {scores}",
             f"%t = stablehlo.tanh %c : {scores}", f"%o = stablehlo.concatenate %b, %t, dim = 1 : ({boxes}, {scores}) -> {both}"]
    place.program("heads.mlir", f"func.func @main(%x: tensor<400x64xbf16>, %w: tensor<64x4xbf16>, %v: tensor<64x80xbf16>) -> {both} {{\n  " + "\n  ".join(lines) + f"\n  return %o : {both}\n}}\n")

    def ran(rule: str, *arguments: str) -> dict:
        return next(iter(report(place, place.programs, "--device", f"{planter}?{rule}", *arguments)[1].values()))

    for effect in ("scale", "negate", "zero_last"):
        test = ran(f"op=stablehlo.tanh&effect={effect}")
        expect(test["outcome"] == "failed" and "heads.mlir:7:" in test["message"] and "is wrong when it is fed right values" in test["message"], test)
        expect(test["comparisons"][0]["passed"] and test["comparisons"][0]["noise"] < 0.02 and "small beside the rest" in test["comparisons"][0]["sentence"], test["comparisons"])
    for rule in ("right=reassociated", "right=fast", "right=fused"):
        test = ran(rule)
        expect(test["outcome"] == "passed" and "by pieces" not in test["notes"], test)


@check
def a_draw_is_right_by_pieces_alone_and_by_all_of_them(place: Place) -> None:
    """All of an output is divided by the square of what rounding leaves of two sums, which clears it to zero on a device that is wrong: evaluations are scattered over orders, and that one is another draw.
    The other output has the same operations behind it, and a quotient that the wrong number cancels from."""
    vector, number, some = "tensor<256xf32>", "tensor<f32>", "tensor<2xf32>"
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>", "%a = stablehlo.tanh %x : tensor<4096xf32>",
             "%s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>",
             "%r = stablehlo.reshape %a : (tensor<4096xf32>) -> tensor<64x64xf32>",
             "%p = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>",
             "%t = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>",
             f"%s1 = stablehlo.broadcast_in_dim %s, dims = [] : ({number}) -> {some}", f"%t1 = stablehlo.broadcast_in_dim %t, dims = [] : ({number}) -> {some}",
             f"%d1 = stablehlo.subtract %s1, %t1 : {some}", f"%d2 = stablehlo.slice %d1 [1:2] : ({some}) -> tensor<1xf32>", f"%d = stablehlo.reshape %d2 : (tensor<1xf32>) -> {number}",
             f"%size = stablehlo.abs %d : {number}", f"%tiny = stablehlo.constant dense<1.0e-6> : {number}", f"%e = stablehlo.add %size, %tiny : {number}",
             f"%k = stablehlo.constant dense<-2.0> : {number}", f"%q = stablehlo.power %e, %k : {number}", f"%qb = stablehlo.broadcast_in_dim %q, dims = [] : ({number}) -> {vector}",
             f"%y = stablehlo.multiply %w, %qb : {vector}", f"%m = stablehlo.abs %y : {vector}",
             f"%most = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [0] : ({vector}, {number}) -> {number}",
             f"%mb = stablehlo.broadcast_in_dim %most, dims = [] : ({number}) -> {vector}", f"%n = stablehlo.divide %y, %mb : {vector}"]
    place.program("draw.mlir", f"func.func @main(%x: tensor<4096xf32>, %w: {vector}) -> ({vector}, {vector}) {{\n  " + "\n  ".join(lines) + f"\n  return %y, %n : {vector}, {vector}\n}}\n")
    cleared = f"{plugin('operation_planter.so')}?op=stablehlo.subtract&effect=zero_last"
    test = next(iter(report(place, place.programs, "--device", cleared)[1].values()))
    expect("scattered over orders" in test["comparisons"][0]["sentence"] and test["comparisons"][1]["passed"], test["comparisons"])
    expect(test["outcome"] == "failed" and "draw.mlir:10:" in test["notes"]["by pieces"] and "is wrong when it is fed right values" in test["message"], test)


@check
def products_in_bf16_are_judged_as_what_they_are(place: Place) -> None:
    """precision=bf16 of our own device: by its name, by an option, by what it says of itself; each record says bf16."""
    ours = plugin("pjrt_plugin_cupel.so")
    mlp = Path(__file__).resolve().parents[2] / "zoo/programs/mlp.mlir"
    # As anybody's plugin it declares nothing, is handed the option with every program, and says what it did.
    for how in (("--device", "cupel?precision=bf16"), ("--device", "cupel", "--option", "precision=bf16"), ("--device", ours, "--option", "precision=bf16")):
        result, tests = report(place, mlp, *how)
        test = next(iter(tests.values()))
        expect(result.returncode == 0 and {one["precision"] for one in test["comparisons"]} == {"bf16/f32"}, test)
        expect(test["notes"]["precision"].startswith("bf16/f32, ") and "product" in test["notes"]["precision"], test)
    result, tests = report(place, mlp, "--device", "cupel", "--option", "precision=bf16/bf16")
    test = next(iter(tests.values()))
    expect(result.returncode == 0 and {one["precision"] for one in test["comparisons"]} == {"bf16"}, test)
    expect(test["notes"]["precision"].startswith("bf16/bf16, "), test)
    # It is computed so, and not judged so alone: by the limits of f32 it is wrong.
    result, tests = report(place, mlp, "--device", "cupel?precision=bf16", "--precision", "f32")
    expect(result.returncode == 1 and next(iter(tests.values()))["outcome"] == "failed", tests)
    _, tests = report(place, mlp, "--device", "cupel")
    test = next(iter(tests.values()))
    expect("precision" not in test["notes"] and test["comparisons"][0]["precision"] == "f32", test)
    expect(place.run(mlp, "--device", "cupel?precision=tf32").returncode == 2, "no such precision")


@check
def noise_judges_where_no_comparator_is_named(place: Place) -> None:
    """The strict rule by default, upstream's correlation for the asking, and each says so in every report."""
    place.program("double.mlir", DOUBLE)
    inputs = [1.5, -2.25, 3.125, 4.75]
    (place.programs / "double.inputs.safetensors").write_bytes(safetensors(inputs))

    def judge(scale: float, *arguments: object) -> tuple[subprocess.CompletedProcess, dict, dict]:
        (place.programs / "double.expected.safetensors").write_bytes(safetensors([scale * 2 * x for x in inputs]))
        result, tests = report(place, place.programs, "--junitxml", place.folder / "junit.xml", "--markdown", place.folder / "summary.md", *arguments)
        summary = json.loads((place.folder / "report.json").read_text())["summary"]
        test = next(iter(tests.values()))
        return result, test, summary

    result, test, summary = judge(1)
    expect(result.returncode == 0 and test["comparisons"][0]["rule"] == "strict" and test["comparisons"][0]["precision"] == "f32", test)
    expect("Judged by: strict where no comparator" in result.stdout and summary["comparison"].startswith("strict"), result.stdout)
    result, test, _ = judge(1.25)
    wrong = test["comparisons"][0]
    expect(result.returncode == 1 and test["outcome"] == "failed" and test["reasons"][0]["name"] == "DATA_MISMATCH_NOISE", test)
    expect("beyond 8x noise" in wrong["sentence"] and "looks like: scaled by 0.8" in wrong["sentence"] and wrong["worst_in_noise"] > 8, wrong)
    result, test, summary = judge(1.25, "--compare", "pcc")
    lax = test["comparisons"][0]
    expect(result.returncode == 0 and lax["rule"] == "pcc" and lax["strict_passed"] is False and "strict: " in lax["sentence"], test)
    expect(summary["passed_only_as_configured"] == 1 and "1 test passes by its own comparators alone" in result.stdout, result.stdout)
    expect("Passed by their own comparators alone: 1" in (place.folder / "summary.md").read_text(), "Markdown")
    junit = (place.folder / "junit.xml").read_text()
    expect("strict_error_message" in junit and 'name="comparison" value="pcc 0.99 where' in junit, junit)
    expect(judge(1.25, "--compare", "pcc", "--strict")[0].returncode == 1, "--strict")
    (place.folder / "cupel.yaml").write_text("comparison: pcc\n")
    expect(judge(1.25)[1]["comparisons"][0]["rule"] == "pcc", "cupel.yaml")
    expect(judge(1.25, "--compare", "strict")[0].returncode == 1, "an option says more than the project")
    (place.folder / "cupel.yaml").unlink()
    # A coarser device has wider limits; so it has where nobody measures.
    expect(judge(1.01)[0].returncode == 1 and judge(1.01, "--precision", "bf16")[0].returncode == 0, "--precision")
    expect(judge(1.01, "--device", "reference?precision=bf16")[1]["comparisons"][0]["precision"] == "bf16", "?precision=")
    result, test, _ = judge(1.25, "--noise", 0)
    expect("limits from the declared precision f32 alone" in test["comparisons"][0]["sentence"], test)
    for arguments in (("--precision", "f31"), ("--compare", "closely"), ("--noise", 1000), ("--device", "cupel?precision=f31")):
        expect(place.run(place.programs, *arguments).returncode == 2, arguments)


@check
def what_the_strict_rule_says_is_told_of_every_execution(place: Place) -> None:
    """A device that is wrong now and then, behind a comparator that does not see it; one whose limits are wide; and the name of what varies."""
    planter = plugin("planter_plugin.so")
    place.program("double.mlir", DOUBLE)
    config = place.folder / "test_config_lax.yaml"
    config.write_text("test_config:\n  double.mlir: {required_pcc: 0.97}\n")
    flaky = ("--device", f"{planter}?fault=flaky")
    result, tests = report(place, place.programs, *flaky, "--config", config)
    lax = next(iter(tests.values()))["comparisons"][0]
    expect(result.returncode == 0 and lax["strict_passed"] is False and "strict: with other inputs: " in lax["sentence"], tests)
    expect("1 test passes by its own comparators alone" in result.stdout, result.stdout)
    result, tests = report(place, place.programs, *flaky)
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["error_class"] == "not_deterministic" and "which is right" in test["message"], test)
    # What is left of small numbers beside a large one.
    place.program("double.mlir", DOUBLE.replace("return %0", "%c = stablehlo.constant dense<1.0e6> : tensor<4xf32>\n  %s = stablehlo.add %0, %c : tensor<4xf32>\n"
                                                "  %t = stablehlo.subtract %s, %c : tensor<4xf32>\n  return %t"))
    result, tests = report(place, place.programs, "--device", f"{planter}?fault=scaled_a_little")
    test, summary = next(iter(tests.values())), json.loads((place.folder / "report.json").read_text())["summary"]
    expect(test["outcome"] == "passed" and "% noise in f32" in test["notes"]["ill-conditioned"] and summary["ill_conditioned"] == 1, test)
    expect("1 test is ill-conditioned, and limits are wide" in result.stdout, result.stdout)


@check
def sums_of_equal_numbers_are_right_on_a_right_device(place: Place) -> None:
    """Added one by one they drift by more than noise; no device adds so many one by one, and the judge must not either."""
    plugin("pjrt_plugin_cupel.so")
    for terms in (300, 300000):
        place.program(f"sum{terms}.mlir", f"""func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<4x{terms}xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x{terms}xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}
""")
    result, tests = report(place, place.programs, "--device", "cupel")
    expect(len(tests) == 2 and all(test["outcome"] == "passed" for test in tests.values()), result.stdout)


@check
def golden_results_are_computed_once_for_all_devices(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    for number in range(4):
        size = 300 + number
        place.program(f"p{number}.mlir", f"""func.func @main(%x: tensor<{size}x300xf32>, %y: tensor<300x300xf32>) -> tensor<{size}x300xf32> {{
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<{size}x300xf32>, tensor<300x300xf32>) -> tensor<{size}x300xf32>
  %t = stablehlo.tanh %z : tensor<{size}x300xf32>
  return %t : tensor<{size}x300xf32>
}}
""")
    kept = place.folder / "kept"

    def run(device: str) -> dict[str, tuple[int, int]]:
        """What the golden cache holds after a run: each file with its inode, which another writing of it would change."""
        environment = place.environment(fake=False) | {"CUPEL_CACHE_DIR": str(kept)}
        environment.pop("CUPEL_GOLDEN_CACHE", None)
        result = subprocess.run(place.command(place.programs, "--device", device, "-j", 1), capture_output=True, text=True, timeout=300, cwd=place.folder,
                                stdin=subprocess.DEVNULL, env=environment)
        expect(result.returncode == 0 and "4 passed" in result.stdout, result.stdout + result.stderr)
        last = sorted((place.folder / "results/journals").glob("*.jsonl"))[-1]
        records = [json.loads(line)["record"] for line in last.read_text().splitlines() if '"record"' in line]
        remembered.append([record.get("notes", {}).get("golden remembered", "no") for record in records])
        return {str(path.relative_to(kept)): (path.stat().st_ino, path.stat().st_size) for path in (kept / "golden").rglob("*") if path.is_file()}

    remembered: list[list[str]] = []
    first = run("cupel?backend=cpu")
    expect(len(first) >= 4, f"the golden results of 4 programs are kept: {first}")
    second = run("cupel?backend=cpu&num_threads=1")
    expect({name: place for name, place in second.items() if name in first} == first, "a golden result was computed again")
    expect(len(second) == len(first), f"{len(second) - len(first)} golden results were computed for the second device")
    expect(remembered == [["no"] * 4, ["yes"] * 4], remembered)
    shown = subprocess.run([str(CUPEL), "cache", "show", "golden", "--verify", "--json"], capture_output=True, text=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    row = json.loads(shown.stdout)[0]
    expect((row["kind"], row["entries"], row["damaged"]) == ("golden", len(first), 0) and row["bytes"] <= row["limit"], row)
    # A damaged one is noticed, and computed again.
    (kept / next(iter(first))).write_bytes(b"rubbish")
    shown = subprocess.run([str(CUPEL), "cache", "show", "golden", "--verify", "--json"], capture_output=True, text=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    expect(json.loads(shown.stdout)[0]["damaged"] == 1, shown.stdout)
    expect(len(run("cupel?backend=cpu")) == len(first), "it is there again")
    subprocess.run([str(CUPEL), "cache", "prune", "--limit", "0"], check=True, capture_output=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    expect(not [path for path in (kept / "golden").rglob("*") if path.is_file()], "prune leaves nothing")


@check
def small_golden_results_are_computed_once_too(place: Place) -> None:
    """Also those for the other inputs that a test is looked at with, and the noise of each."""
    plugin("pjrt_plugin_cupel.so")
    for number in range(6):
        operation = ("tanh", "sine", "exponential", "logistic", "cosine", "sqrt")[number]
        place.program(f"p{number}.mlir", f"""func.func @main(%x: tensor<{number + 2}x3xf32>) -> tensor<{number + 2}x3xf32> {{
  %t = stablehlo.{operation} %x : tensor<{number + 2}x3xf32>
  %z = stablehlo.add %t, %x : tensor<{number + 2}x3xf32>
  return %z : tensor<{number + 2}x3xf32>
}}
""")
    environment = place.environment(fake=False) | {"CUPEL_CACHE_DIR": str(place.folder / "kept")}
    environment.pop("CUPEL_GOLDEN_CACHE", None)
    evaluations = []
    for device in ("cupel?backend=cpu", "cupel?backend=cpu&num_threads=1"):
        result = subprocess.run(place.command(place.programs, "--device", device, "-j", 2), capture_output=True, text=True, timeout=300, cwd=place.folder,
                                stdin=subprocess.DEVNULL, env=environment)
        expect(result.returncode == 0 and "6 passed" in result.stdout, result.stdout + result.stderr)
        last = sorted((place.folder / "results/journals").glob("*.jsonl"))[-1]
        records = [json.loads(line)["record"] for line in last.read_text().splitlines() if '"record"' in line]
        evaluations.append([int(record.get("notes", {}).get("reference evaluations", 0)) for record in records])
    expect(min(evaluations[0]) >= 2 and evaluations[1] == [0] * 6, f"evaluations by the reference: {evaluations}")


sys.exit(main())
