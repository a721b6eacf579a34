// What the golden reference makes of a program, and how far roundings alone move that.

#pragma once

#include "cupel/reference/Execute.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace cupel::random_programs {

Result<std::vector<tensor::Tensor>> evaluate(mlir::ModuleOp module, const std::vector<tensor::Tensor> &arguments,
                                             reference::RunOptions options = {});

/// For each result the largest distance between what the reference computes and what it computes with sums in
/// f64, or with every rounding moved by up to a step of f32. Where numbers cancel that is most of a result.
Result<std::vector<double>> noiseOf(mlir::ModuleOp module, const std::vector<tensor::Tensor> &arguments,
                                    const std::vector<tensor::Tensor> &expected);
Result<std::vector<double>> noiseOf(const std::string &program, const std::vector<tensor::Tensor> &arguments,
                                    const std::vector<tensor::Tensor> &expected);

/// The program as precision=bf16 has it, marks for kernels included; `kept`: as precision=bf16/bf16 does.
Result<std::string> narrowed(const std::string &program, bool kept);

} // namespace cupel::random_programs
