// What verbs that take a model ask of the worker: the file, what is known of its inputs, and the module
// or survey that comes of it. Used by the worker's commands for them.
#pragma once

#include "cupel/frontends/ModelImport.h"

#include <llvm/Support/JSON.h>
#include <memory>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

/// The object that a verb hands to the worker; anything else was typed by somebody.
Result<llvm::json::Object> workerRequest(const char *text);

struct ModelRequest {
  std::string verb; ///< For messages.
  std::string file, program; ///< The program where the file holds several; empty: the only one.
  frontends::ImportOptions options; ///< Without data as yet.
  std::optional<uint32_t> dataSet;

  static Result<ModelRequest> parse(std::string verb, const llvm::json::Object &request);

  /// Reads the model, checks the names of --shape, takes inputs from its data. An exit code where
  /// that failed, which has then been reported.
  std::optional<int> load();
  std::unique_ptr<frontends::ModelFile> model;
  std::vector<std::string> notes; ///< What `load` decided.
};

/// A context with all dialects, which keeps the first complaint.
class ModelContext {
public:
  ModelContext();
  mlir::MLIRContext &get() { return *context; }
  std::string complaint;

private:
  std::unique_ptr<mlir::MLIRContext> context;
};

/// The value of an input, by its number, that nobody gave: the same for a seed in every verb.
Result<tensor::Tensor> madeUpInput(mlir::RankedTensorType type, uint64_t seed, size_t number);

/// How a refusal reads.
std::string describe(const Error &refusal);

} // namespace cupel::cli
