// Finds on disk what tests are made from: loaders, programs, operator cases, ONNX models, archives
// and saved workloads below the given files and folders. It looks into files only as far as it must
// to know how many tests each holds. The table is built from what it returns.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/Kinds.h"
#include "cupel/testbench/zoo/Remark.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::matrix {

/// A file (or folder) that is one test or several.
struct TestFile {
  const Kind *kind = nullptr;
  std::string file; ///< What is run.
  std::string id;   ///< Its path below the common folder of what was given.

  /// One test of it. `id` is the file's with `suffix`; `part` as TestItem has it.
  struct Part {
    uint32_t part = 0;
    std::string suffix;
    std::vector<std::string> markers;
    std::vector<std::string> names; ///< What -k may find it by besides its id.
    std::string op, signature;      ///< Of an operator case: what it calls, and with what.
    /// Of an operator case: cases with the same key test the same, as far as their tolerances go.
    std::string key = {};
    std::optional<double> rtol = {}, atol = {};
  };

  std::vector<Part> parts;
  std::string model = {}; ///< Of operator cases.
};

struct LoaderSource {
  std::string root; ///< Of its zoo.
  std::string file;
  std::string modelPath;
};

struct Sources {
  std::vector<LoaderSource> loaders; ///< By root and model path, each once.
  std::vector<TestFile> files;       ///< By kind and id.
  std::vector<Remark> errors;
  std::vector<std::string> excludedLoaders; ///< Left out by name, as upstream does.
};

struct SourceOptions {
  /// Everything below these that is a test.
  std::vector<std::string> paths;
  /// Only loaders below these, which are their zoos' roots.
  std::vector<std::string> zoos;
  /// Roots of zoos that loaders below `paths` may belong to; their ids are relative to these.
  std::vector<std::string> knownZoos;
  /// Only operator cases below these.
  std::vector<std::string> opCases;
  std::vector<std::string> frameworks;
};

/// The programs that files and folders hold, each an item, in the order given: of a folder every
/// .mlir, .mlirbc and .bc file below it, a file whatever it is called. An item's id is the file as
/// it was given, with the line where the program begins if there are several. What cannot be read
/// is one program too: running it says what is wrong.
Result<std::vector<TestItem>> programsIn(const std::vector<std::string> &inputs);

/// An error for a path that does not exist or cannot be looked at; what is found wrong below is in
/// `errors`.
Result<Sources> findSources(const SourceOptions &options);

} // namespace cupel::testbench::matrix
