// A place in a file and what there is to say about it: what discovery reports of files it cannot
// read, or cannot decide. A value; shown by whoever collected it.
#pragma once

#include <cstdint>
#include <string>

namespace cupel::testbench {

struct Remark {
  std::string file;
  uint32_t line = 0, column = 0; ///< From 1; 0 where there is none.
  std::string message;

  /// `file:line:column: message`.
  std::string text() const;
  bool operator==(const Remark &) const = default;
};

} // namespace cupel::testbench
