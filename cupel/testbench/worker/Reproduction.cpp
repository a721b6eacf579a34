#include "cupel/testbench/worker/Reproduction.h"

#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/frontends/HloBuilder.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/support/CommandWords.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/worker/DeviceProgram.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <mlir/IR/Verifier.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// More elements than these make no text that anybody reads.
constexpr int64_t kMostElements = 1 << 16;

/// Works with any jax that can call exported programs; reads the workload's own files.
constexpr const char *kPython = R"PY(#!/usr/bin/env python3
"""{title}

Runs the program beside it through JAX and compares with what the reference gave.
  {name} [PLATFORM] [PLUGIN.so]   exit code 0: as expected, 1: not
"""
import json
import sys
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
from jax import export, tree_util

TYPES = {{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": ml_dtypes.bfloat16, "I64": "int64", "I32": "int32", "I16": "int16",
         "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool", "C64": "complex64"}}
FOLDER = Path(__file__).resolve().parent / "workload"
TOLERANCE = {tolerance}


def read(name):
    raw = (FOLDER / name).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    values = {{}}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        values[key] = np.frombuffer(raw[8 + size + begin:8 + size + end], dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
    return [values[str(i)] for i in range(len(values))]


def main():
    platform, plugin = (sys.argv[1:] + ["", ""])[:2]
    if plugin:
        from jax._src import xla_bridge
        xla_bridge.register_plugin(platform, library_path=plugin, options={options})
    if platform:
        jax.config.update("jax_platforms", platform)
    jax.config.update("jax_enable_x64", True)
    inputs, expected = read("inputs.safetensors"), read("expected.safetensors")
    shaped = lambda values: tuple(jax.core.ShapedArray(value.shape, value.dtype) for value in values)
    none = lambda values: (None,) * len(values)
    fields = dict(
        fun_name="repro", in_tree=tree_util.tree_structure((tuple(inputs), {{}})), in_avals=shaped(inputs),
        out_tree=tree_util.tree_structure(tuple(expected)), out_avals=shaped(expected), _has_named_shardings=False, _in_named_shardings=none(inputs),
        _out_named_shardings=none(expected), in_shardings_hlo=none(inputs), out_shardings_hlo=none(expected), nr_devices=1,
        platforms=(jax.default_backend(),), ordered_effects=(), unordered_effects=(),
        disabled_safety_checks=(export.DisabledSafetyCheck.platform(),), mlir_module_serialized=(FOLDER / "program.mlirbc").read_bytes(),
        calling_convention_version=export.maximum_supported_calling_convention_version, module_kept_var_idx=tuple(range(len(inputs))),
        uses_global_constants=False, _get_vjp=None)
    known = export.Exported.__dataclass_fields__
    program = export.Exported(**{{name: value for name, value in fields.items() if name in known}})
    worst = 0.0
    for i, (actual, right) in enumerate(zip(jax.jit(program.call)(*inputs), expected)):
        wide = np.complex128 if np.iscomplexobj(right) else np.float64
        a, b = np.asarray(actual).astype(wide), right.astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.where(same, 0, np.abs(a - b))
        off = np.where(np.isnan(off), np.inf, off)
        place = np.unravel_index(np.argmax(off), off.shape) if off.size else ()
        print(f"result {{i}}: largest difference {{off.max() if off.size else 0}} at {{list(map(int, place))}}")
        worst = max(worst, float(off.max()) if off.size else 0.0)
    print("as expected" if worst <= TOLERANCE else "wrong")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
)PY";

struct PluginWords {
  std::string plugin;
  std::vector<std::string> options;
};

/// The plugin and its options out of a device's whole name.
PluginWords wordsOf(const std::string &device) {
  PluginWords words;
  std::string own = runtime::withoutPrecision(device.substr(0, device.find('@')));
  size_t question = own.find('?');
  words.plugin = own.substr(0, question);
  while (question != std::string::npos) {
    size_t end = own.find('&', question + 1);
    std::string option = own.substr(question + 1, end - question - 1);
    if (!option.empty())
      words.options.push_back(std::move(option));
    question = end;
  }
  return words;
}

std::string shellScript(const results::Explanation &explanation, const PluginWords &words) {
  std::string options;
  for (const std::string &option : words.options)
    options += " --option " + quotedForShell(option);
  return fmt::format("#!/bin/sh\n"
                     "# {}\n"
                     "# Needs cupel-device (in PATH, or named by CUPEL_DEVICE) and the plugin:\n"
                     "#   repro.sh [PLUGIN.so [OPTIONS OF cupel-device run]]\n"
                     "# Exit code 0: as expected, 1: not.\n"
                     "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
                     "if [ $# -gt 0 ]; then plugin=$1; shift; else plugin={}; fi\n"
                     "exec \"${{CUPEL_DEVICE:-cupel-device}}\" run \"$plugin\" "
                     "\"$here/workload\"{} \"$@\"\n",
                     explanation.sentence, quotedForShell(words.plugin), options);
}

/// Where the results of a right device end and those of the wrong one begin.
double toleranceFor(const Prepared &program, const TriedPiece &failure) {
  double largest = 0;
  for (const Tensor &value : program.workload.expected.front())
    if (value.dtype() == tensor::DType::F32)
      if (Result<Tensor> plain = value.contiguous())
        for (int64_t i = 0; i < plain->size(); ++i)
          if (double size = std::abs(double(reinterpret_cast<const float *>(plain->data())[i]));
              std::isfinite(size))
            largest = std::max(largest, size);
  double least = std::max(largest, 1e-6) * 1e-5;
  if (failure.maxAbsolute && std::isfinite(*failure.maxAbsolute) && *failure.maxAbsolute > 0)
    least = std::min(least, *failure.maxAbsolute / 2);
  return least;
}

} // namespace

Result<std::string> selfChecking(const Prepared &program, double tolerance) {
  if (program.workload.inputs.size() > 1 || program.program().spreadOver > 1 ||
      program.workload.expected.empty())
    return Error{ErrorCode::Unsupported, "it runs on several devices, or nothing is expected"};
  int64_t elements = 0;
  for (const auto *list : {&program.workload.inputs.front(), &program.workload.expected.front()})
    for (const Tensor &value : *list)
      elements += value.size();
  if (elements > kMostElements)
    return Error{ErrorCode::Unsupported, fmt::format("{} elements are too many for a text", elements)};
  Prepared copy = program.clone();
  mlir::func::FuncOp entry = compiler::entryOf(*copy.read->module);
  mlir::MLIRContext *context = entry.getContext();
  context->loadAllAvailableDialects(); // That of checks may not have been needed so far.
  mlir::Block &body = entry.getBody().front();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&body);
  auto attributeOf = [&](const Tensor &value, mlir::Type type) -> mlir::ElementsAttr {
    Result<Tensor> plain = value.contiguous();
    mlir::ElementsAttr attribute =
        plain ? frontends::denseAttribute(context, *plain) : nullptr;
    return attribute && attribute.getType() == type ? attribute : nullptr;
  };
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    auto values = attributeOf(program.workload.inputs.front()[i], argument.getType());
    if (!values)
      return Error{ErrorCode::Unsupported, "an input's type has no form as a constant"};
    argument.replaceAllUsesWith(
        builder.create<stablehlo::ConstantOp>(argument.getLoc(), values));
  }
  mlir::Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (auto [i, value] : llvm::enumerate(llvm::to_vector(end->getOperands()))) {
    auto values = attributeOf(program.workload.expected.front()[i], value.getType());
    if (!values)
      return Error{ErrorCode::Unsupported, "a result's type has no form as a constant"};
    bool isFloat = tensor::isFloat(program.workload.expected.front()[i].dtype());
    mlir::OperationState state(end->getLoc(), isFloat ? "check.expect_almost_eq_const"
                                                      : "check.expect_eq_const");
    state.addOperands(value);
    state.addAttribute("value", values);
    if (isFloat)
      state.addAttribute("tolerance", builder.getF64FloatAttr(tolerance));
    builder.create(state);
  }
  end->setOperands({});
  body.eraseArguments(0, body.getNumArguments());
  entry.setFunctionType(mlir::FunctionType::get(context, {}, {}));
  entry.removeArgAttrsAttr();
  entry.removeResAttrsAttr();
  if (mlir::failed(mlir::verify(*copy.read->module)))
    return Error{ErrorCode::Unsupported, "it cannot be written with checks"};
  removeMarks(*copy.read->module);
  std::string text;
  llvm::raw_string_ostream(text) << *copy.read->module;
  return text + "\n";
}

Reproduction writeReproduction(const Prepared &program, const Request &request,
                               const results::Explanation &explanation, const TriedPiece &failure,
                               const std::string &folder) {
  Reproduction made{{"workload"}, {}};
  auto write = [&](const std::string &name, const std::string &text, bool isRun) {
    std::string path = folder + "/" + name;
    if (Status written = writeOutput(path, text); !written) {
      made.remarks.push_back(written.message());
      return;
    }
    std::error_code error;
    if (isRun)
      std::filesystem::permissions(path, std::filesystem::perms::owner_exec |
                                             std::filesystem::perms::group_exec |
                                             std::filesystem::perms::others_exec,
                                   std::filesystem::perm_options::add, error);
    made.files.push_back(name);
  };
  PluginWords words = wordsOf(isolatedName(request.device));
  double tolerance = toleranceFor(program, failure);
  write("repro.sh", shellScript(explanation, words), /*isRun=*/true);
  Result<std::string> text = selfChecking(program, tolerance);
  if (text)
    write("repro.mlir",
          fmt::format("// {}\n// cupel eval repro.mlir --device {}\n", explanation.sentence,
                      request.device) +
              *text,
          /*isRun=*/false);
  else
    made.remarks.push_back("no repro.mlir: " + text.message());
  bool isForJax = program.workload.inputs.size() <= 1 && program.program().spreadOver == 1;
  for (const auto *types : {&program.program().arguments, &program.program().results})
    for (const ValueType &type : *types)
      isForJax &= type.isTensor && !type.element.quantization;
  if (isForJax) {
    std::string options = "{";
    for (const std::string &option : words.options) {
      size_t at = option.find('=');
      options += fmt::format("{}\"{}\": \"{}\"", options.size() > 1 ? ", " : "",
                             option.substr(0, at), option.substr(at + 1));
    }
    write("repro.py",
          fmt::format(fmt::runtime(kPython), fmt::arg("title", explanation.sentence),
                      fmt::arg("name", "repro.py"), fmt::arg("tolerance", tolerance),
                      fmt::arg("options", options + "}")),
          /*isRun=*/true);
  } else {
    made.remarks.push_back("no repro.py: JAX cannot say it");
  }
  return made;
}

} // namespace cupel::testbench::worker
