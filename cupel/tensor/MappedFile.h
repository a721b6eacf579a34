// A file's bytes, mapped read-only, for tensors to lie on: the readers of tensor files use it.
// Files of any size; what cannot be mapped (a pipe) is read into memory. A file that is cut short
// by somebody else while it is mapped ends the process, as with every program that maps files.

#pragma once

#include "cupel/support/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cupel::tensor {

/// Bytes and what keeps them alive.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool isMapped = false; ///< From a file, which has them again for whoever reads them.

  SharedBytes part(size_t offset, size_t size) const {
    return {bytes.subspan(offset, size), owner, isMapped};
  }
  /// An owner for these bytes alone: when it goes, so does the memory that they took, and not only when
  /// the whole file does.
  std::shared_ptr<const void> ownerOfPart() const;
};

Result<SharedBytes> mapFile(const std::string &path);

/// A name that came out of a file, fit for a message: short, on one line, and without anything that
/// upsets a terminal.
std::string printable(std::string_view name);

} // namespace cupel::tensor
