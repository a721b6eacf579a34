// What a test prints, up to a cap: its beginning and its end are kept, the middle is counted. Used
// by the runner for each try of a test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

class OutputCapture {
public:
  explicit OutputCapture(uint64_t cap) : half(cap / 2) {}

  void append(std::string_view bytes);
  void clear();
  /// With a line in the middle that says how much is missing, where something is; at most about
  /// `most` bytes.
  std::string text(uint64_t most = ~uint64_t{0}) const;
  uint64_t total() const { return count; }
  /// The last line that is not empty.
  std::string lastLine() const;

private:
  uint64_t half, count = 0;
  std::string head, tail;
};

} // namespace cupel
