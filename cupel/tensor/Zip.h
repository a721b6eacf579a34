// As much of the zip format as .npz and PyTorch's archives need: entries stored or deflated, sizes
// beyond 4 GiB. Every offset and size of a file is checked before it is followed; encryption,
// several volumes and overlapping entries are errors.

#pragma once

#include "cupel/tensor/MappedFile.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::tensor {

struct ZipEntry {
  std::string name;
  SharedBytes contents; // of stored entries, a part of the file; of deflated ones, a copy
};

/// All entries in the order of the directory, their checksums verified.
Result<std::vector<ZipEntry>> readZip(const SharedBytes &file);
/// The same for archives that are mapped and hold large tensors: a deflated entry is an error, and
/// only entries of up to `verifyUpTo` bytes are read to verify their checksums.
Result<std::vector<ZipEntry>> readStoredZip(const SharedBytes &file, uint64_t verifyUpTo);

/// What is written: contents in two pieces, the first of which is small. Stored entries place the
/// second piece at a multiple of 64 bytes if the first one's length is one.
struct ZipSource {
  std::string name;
  std::string head;
  std::string_view body;
};
Status writeZip(const std::string &path, const std::vector<ZipSource> &entries, bool compress);

} // namespace cupel::tensor
