// Programs of every kind that the project's corpora hold, ready to be compiled: StableHLO (text,
// bytecode, portable artifacts), ONNX models and exported PyTorch programs, with what they are run
// on. A program that checks itself gives what it checks as results, on its constants as arguments.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace cupel::random_programs {

struct CorpusProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module; // Of one function @main, without calls.
  std::vector<tensor::Tensor> arguments;
};

/// Every file below the paths whose name says that it is a program or model, sorted.
std::vector<std::string> filesBelow(const std::vector<std::string> &paths);

/// The programs of a file; each an error that says why it cannot be compiled for one device where it
/// cannot. The context has all dialects.
std::vector<Result<CorpusProgram>> readCorpusFile(const std::string &path,
                                                  mlir::MLIRContext &context);

/// Of a program as text and its arguments.
Result<CorpusProgram> readCorpusProgram(const std::string &text,
                                        std::vector<tensor::Tensor> arguments,
                                        mlir::MLIRContext &context);

} // namespace cupel::random_programs
