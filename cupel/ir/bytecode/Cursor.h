// A bounds-checked reader over part of a file, with MLIR's number encodings. Everything in this
// folder reads bytes through it, so that a truncated or hostile file ends in a message with an
// offset and never in a read past the end. It never allocates by a size found in the file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::bytecode {

using Bytes = std::span<const uint8_t>;

/// What was wrong with a file and at which byte.
struct Problem {
  size_t offset = 0;
  std::string what;

  bool found() const { return !what.empty(); }
  /// "byte 123: ..." for diagnostics.
  std::string str() const { return "byte " + std::to_string(offset) + ": " + what; }
};

/// Reads bytes [begin, end) of `file`. Every function that can fail returns false after recording
/// the first problem.
class Cursor {
public:
  Cursor(Bytes file, size_t begin, size_t end, Problem &problem)
      : file(file), pos(begin), last(end), problem(&problem) {}

  size_t offset() const { return pos; }
  size_t end() const { return last; }
  size_t remaining() const { return last - pos; }
  bool empty() const { return pos == last; }

  /// Records `what` at byte `at` unless an earlier problem is known; always false.
  bool failAt(size_t at, std::string what) {
    if (!problem->found())
      *problem = {at, std::move(what)};
    return false;
  }
  bool fail(std::string what) { return failAt(pos, std::move(what)); }

  [[nodiscard]] bool byte(uint8_t &value, const char *what) {
    if (empty())
      return fail(std::string("the file ends inside ") + what);
    value = file[pos++];
    return true;
  }

  /// MLIR's prefix varint: the trailing zero bits of the first byte count the bytes that follow it.
  [[nodiscard]] bool varint(uint64_t &value, const char *what) {
    if (empty())
      return fail(std::string("the data ends inside ") + what);
    uint8_t first = file[pos];
    if (first & 1) {
      value = first >> 1;
      ++pos;
      return true;
    }
    unsigned extra = first == 0 ? 8 : std::countr_zero(first);
    if (extra >= remaining())
      return fail(std::string("the data ends inside ") + what);
    uint64_t raw = 0;
    if (first == 0) {
      for (unsigned i = 0; i < 8; ++i)
        raw |= uint64_t(file[pos + 1 + i]) << (8 * i);
      value = raw;
    } else {
      for (unsigned i = 0; i <= extra; ++i)
        raw |= uint64_t(file[pos + i]) << (8 * i);
      value = raw >> (extra + 1);
    }
    pos += extra + 1;
    return true;
  }

  [[nodiscard]] bool signedVarint(int64_t &value, const char *what) {
    uint64_t raw;
    if (!varint(raw, what))
      return false;
    value = int64_t((raw >> 1) ^ (~(raw & 1) + 1));
    return true;
  }

  /// A varint whose lowest bit is a flag of its own.
  [[nodiscard]] bool varintWithFlag(uint64_t &value, bool &flag, const char *what) {
    if (!varint(value, what))
      return false;
    flag = value & 1;
    value >>= 1;
    return true;
  }

  /// A number of things that each take at least `minimum` of the bytes that remain. Readers reserve
  /// memory by such counts, so one that the data cannot hold is refused here.
  [[nodiscard]] bool count(uint64_t &value, const char *what, uint64_t minimum = 1) {
    size_t at = pos;
    return varint(value, what) && checkCount(at, value, what, minimum);
  }
  [[nodiscard]] bool checkCount(size_t at, uint64_t value, const char *what, uint64_t minimum = 1) {
    if (value > remaining() / minimum)
      return failAt(at, std::string(what) + " is " + std::to_string(value) + ", but only " +
                            std::to_string(remaining()) + " bytes follow");
    return true;
  }

  /// A varint below `limit`.
  [[nodiscard]] bool index(uint64_t &value, uint64_t limit, const char *what) {
    size_t at = pos;
    return varint(value, what) && checkIndex(at, value, limit, what);
  }
  [[nodiscard]] bool checkIndex(size_t at, uint64_t value, uint64_t limit, const char *what) {
    if (value >= limit)
      return failAt(at, std::string(what) + " is " + std::to_string(value) +
                            ", but there are only " + std::to_string(limit));
    return true;
  }

  [[nodiscard]] bool skip(uint64_t length, const char *what) {
    if (length > remaining())
      return fail(std::string(what) + " takes " + std::to_string(length) + " bytes, but only " +
                  std::to_string(remaining()) + " follow");
    pos += length;
    return true;
  }

  /// Bytes up to and without a zero byte, which is skipped too.
  [[nodiscard]] bool zeroTerminated(std::string_view &value, const char *what) {
    const void *zero = empty() ? nullptr : std::memchr(file.data() + pos, 0, remaining());
    if (!zero)
      return fail(std::string(what) + " has no terminating zero byte");
    size_t length = static_cast<const uint8_t *>(zero) - (file.data() + pos);
    value = {reinterpret_cast<const char *>(file.data() + pos), length};
    pos += length + 1;
    return true;
  }

  /// The part [begin, begin + length) of this cursor's bytes, which are skipped here.
  [[nodiscard]] bool take(uint64_t length, Cursor &part, const char *what) {
    size_t begin = pos;
    if (!skip(length, what))
      return false;
    part = Cursor(file, begin, pos, *problem);
    return true;
  }

  Cursor part(size_t begin, size_t end) const { return Cursor(file, begin, end, *problem); }
  Bytes bytes() const { return file; }

private:
  Bytes file;
  size_t pos;
  size_t last;
  Problem *problem;
};

} // namespace cupel::bytecode
