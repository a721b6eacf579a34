// Reads one program of a file in any form: the bytes, its chunk, the module, and what its entry
// function takes and gives. Keeps the context from program to program, because making one costs
// more than most programs, and replaces it before it grows large. Used by the worker, one at a
// time.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/worker/Device.h"

#include <memory>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>
#include <optional>

namespace cupel::testbench::worker {

class ProgramReader {
public:
  ProgramReader();

  /// The text or bytes of chunk `part` of a file; the file is kept for its next chunk. Messages
  /// call it `shown`, where that is given.
  Result<std::string> load(const std::string &file, uint32_t part, const std::string &shown = {});

  /// A program that has been read, verified and had chlo lowered.
  struct Read {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    Program program;
  };
  /// `name` stands in locations; the bytes may be text or bytecode.
  Result<std::unique_ptr<Read>> read(const std::string &bytes, const std::string &name);

  /// Says of a module what its entry function takes and gives.
  static Status describe(Read &read, const std::string &name);

  /// A model made into a program: its inputs come first in the program's arguments, its weights
  /// follow.
  struct ReadModel : Read {
    frontends::ImportedModel imported; ///< Its module has moved to `module`.
  };
  Result<std::unique_ptr<ReadModel>> import(const frontends::ModelFile &model,
                                            const frontends::ImportOptions &options,
                                            const std::string &name);

  /// What becomes of each operator of a model that cannot be imported whole.
  frontends::ModelSurvey survey(const frontends::ModelFile &model,
                                const frontends::ImportOptions &options) {
    return model.survey(*context, options);
  }

private:
  void renewContext();
  /// Lowers chlo and describes what the module takes and gives.
  Status complete(Read &read, const std::string &name);

  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  uint64_t usedBytes = 0;
  std::string complaint;

  struct Kept {
    std::string file;
    int64_t modified = 0, size = 0;
    std::vector<std::string> parts;
  };
  std::optional<Kept> kept;
};

} // namespace cupel::testbench::worker
