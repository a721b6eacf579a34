// As much of the zip format as .npz needs: entries stored or deflated, sizes beyond 4 GiB. Used by
// Npz.cpp only. Every offset and size of a file is checked before it is followed; encryption,
// several volumes and overlapping entries are errors.

#pragma once

#include "cupel/tensor/MappedFile.h"

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

/// What is written: contents in two pieces, the first of which is small. Stored entries place the
/// second piece at a multiple of 64 bytes if the first one's length is one.
struct ZipSource {
  std::string name;
  std::string head;
  std::string_view body;
};
Status writeZip(const std::string &path, const std::vector<ZipSource> &entries, bool compress);

} // namespace cupel::tensor
