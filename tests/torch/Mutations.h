// Damaged `.pt2` archives by seed and number: the file's bytes, its JSON documents field by field,
// and its pickles, the latter two in an archive that is whole, so that the damage reaches the
// reader behind the zip. For tests only.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::torch_fuzz {

class Mutations {
public:
  Status add(const std::string &path);
  bool empty() const { return files.empty(); }
  std::string make(uint64_t seed, uint64_t number) const;
  /// Which file and which kind of damage.
  std::string describe(uint64_t seed, uint64_t number) const;
  /// The kind of damage alone.
  std::string kind(uint64_t seed, uint64_t number) const;

private:
  struct Record {
    std::string name, contents;
  };
  struct File {
    std::string path, bytes;
    std::vector<Record> records;
  };
  std::vector<File> files;
};

/// A zip with stored entries and right checksums.
std::string storedZip(const std::vector<std::pair<std::string, std::string>> &records);

} // namespace cupel::torch_fuzz
