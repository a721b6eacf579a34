// cupel_onnx_fuzz FOLDER... [--quick] [--largest BYTES], and the options of Frame.h.
//
// Imports damaged ONNX models: some made by hand, the others from the *.onnx below the folders.
// Each must end in a module that verifies or in a message that says what is wrong: no crash, no
// hang, no more than 1 GiB. Exits with 1 if any did not. `--only N` imports that input (with
// `--count N` so many from there on) in this process and prints what is said, for a debugger.
#include "tests/fuzz/Frame.h"
#include "tests/fuzz/OnnxInputs.h"

#include "cupel/frontends/onnx/Import.h"
#include "cupel/ir/Dialects.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdio>
#include <memory>

using namespace cupel::fuzz;
namespace onnx_import = cupel::frontends::onnx_import;

namespace {

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Outcome import(const Input &input, const std::string &folder, bool verbose,
               mlir::MLIRContext &context) {
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  std::string message;
  if (auto model = onnx_import::Model::parse(input.content, folder)) {
    auto imported = onnx_import::importModel(*model, context, {});
    if (imported)
      return Outcome::Valid;
    message = imported.message();
  } else {
    message = model.message();
  }
  if (verbose)
    std::printf("%s\n", message.c_str());
  return message.empty() ? Outcome::Silent : Outcome::Refused;
}

} // namespace

int main(int count, char **arguments) {
  Frame frame("cupel_onnx_fuzz", "FOLDER...");
  frame.options.extension = ".onnx";
  uint64_t largest = 16 << 10;
  bool quick = false;
  frame.flag("--quick", quick);
  frame.number("--largest", largest);
  frame.parse(count, arguments);
  OnnxInputs inputs(readOnnxCorpus(frame.paths, largest),
                    quick ? OnnxAmounts{300, 300, 300, 900} : OnnxAmounts(), frame.seed);
  // Where hand-made models look for external data.
  const std::string &folder = frame.paths[0];
  // --only has one context for all: under a memory checker, making it takes longer than the rest.
  std::unique_ptr<mlir::MLIRContext> kept = frame.only ? makeContext() : nullptr;
  return frame.run(inputs, [&](const Input &input) {
    return import(input, folder, bool(kept), kept ? *kept : *makeContext());
  });
}
