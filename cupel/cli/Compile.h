// The worker's part of `cupel compile`: a model or program written as StableHLO.
#pragma once

#include "cupel/cli/ModelRequest.h"
#include "cupel/tensor/Tensor.h"

#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace cupel::cli {

/// A model or program as StableHLO, with what is written beside it.
struct Compiled {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<mlir::FallbackAsmResourceMap> resources =
      std::make_unique<mlir::FallbackAsmResourceMap>();
  std::vector<std::pair<std::string, tensor::Tensor>> weights;
  size_t inputs = 0;
};

/// Reads what the request names and lowers chlo. The exit code where that failed, which has then
/// been reported.
std::optional<int> readAsStablehlo(ModelRequest &request, ModelContext &context,
                                   Compiled &compiled);

/// `request` is the JSON object that CompileVerb.cpp makes; returns the exit code.
int runCompile(const char *request);

} // namespace cupel::cli
