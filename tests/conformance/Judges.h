// How each kind of vector is judged. Every judge works in an MLIRContext of its own and says in
// words what was wrong.
#pragma once

#include "tests/conformance/Vectors.h"

namespace cupel::conformance {

struct Verdict {
  enum class Kind { Passed, Failed };
  Kind kind = Kind::Passed;
  std::string message;

  static Verdict failed(std::string message) { return {Kind::Failed, std::move(message)}; }
};

struct Environment {
  std::string folder;    // The vectors.
  std::string fileCheck; // LLVM's FileCheck.
};

/// Judges a row by one of its judges; nothing if that judge belongs to another test.
std::optional<Verdict> judge(const Row &row, const std::string &judge, const Environment &env);

} // namespace cupel::conformance
