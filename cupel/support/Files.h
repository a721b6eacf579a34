// Reading an input whole, from a file or standard input, and writing an output so that it is either
// complete or absent. Every verb that takes files uses it. Every failure is one line that names the
// file and the reason; nothing here interprets what it reads.
#pragma once

#include "cupel/support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cupel {

/// Inputs beyond this are refused: the line tables and offsets of the readers behind us are 32
/// bits.
inline constexpr uint64_t kMaxInputBytes = uint64_t{2} << 30;

/// The contents of an input: owned or mapped read-only, always followed by a NUL byte that does not
/// count.
class FileContents {
public:
  explicit FileContents(std::string bytes) : owned(std::move(bytes)) {}
  FileContents(const char *mapping, size_t size) : mapping(mapping), mappingSize(size) {}
  FileContents(FileContents &&other) noexcept;
  FileContents &operator=(FileContents &&other) noexcept;
  FileContents(const FileContents &) = delete;
  FileContents &operator=(const FileContents &) = delete;
  ~FileContents();

  std::string_view bytes() const {
    return mapping ? std::string_view(mapping, mappingSize) : std::string_view(owned);
  }

private:
  std::string owned;
  const char *mapping = nullptr;
  size_t mappingSize = 0;
};

/// Reads `path` whole; `-` is standard input. Refuses directories and more than `maxBytes`.
Result<FileContents> readInput(const std::string &path, uint64_t maxBytes = kMaxInputBytes);

/// Writes `path` whole through a temporary file beside it and a rename, so that no reader ever sees
/// half of it; `-` is standard output. What is not a regular file (a pipe, /dev/null) is written in
/// place.
Status writeOutput(const std::string &path, std::string_view bytes);
/// The same with the contents in pieces, written one after another.
Status writeOutput(const std::string &path, std::span<const std::string_view> pieces);

/// How messages name an input: the path, or `<stdin>`.
std::string displayName(const std::string &path);

} // namespace cupel
