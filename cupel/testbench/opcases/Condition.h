// The expressions of `skip_if`: a small language with Python's spelling (comparisons, `in`, `and`,
// `or`, `not`, texts, numbers, lists) over a fixed set of names such as `cfg.test_device.type` and
// `dtype_str`. Parsed once when a case file is read, so that a wrong name is an error of the file;
// evaluated where the device is known. It can call nothing and reach nothing else.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/opcases/Literal.h"

#include <memory>
#include <string>
#include <string_view>

namespace cupel::testbench::opcases {

/// What the names stand for.
struct Surroundings {
  std::string device;         ///< cfg.test_device.type
  std::string compileBackend; ///< cfg.compile_backend
  std::string arch, model, name, op;
  std::string dtype; ///< As torch calls it: float16. Compared by what it means, not by spelling.
};

class Condition {
public:
  struct Node;

  /// Where it is none: the byte of the text and why.
  static bool parse(std::string_view text, Condition &condition, LiteralError &problem);

  /// An error where values cannot be compared, as in `arch < 3`.
  Result<bool> holds(const Surroundings &surroundings) const;

private:
  std::shared_ptr<const Node> root;
};

} // namespace cupel::testbench::opcases
