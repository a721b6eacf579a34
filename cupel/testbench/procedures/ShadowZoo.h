// A zoo with some files changed, without touching it: folders of links to its files, and
// real files where it differs. Goes away with the object.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/support/TemporaryFolder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cupel::testbench::procedures {

class ShadowZoo {
public:
  /// `files` are paths below the root and what they hold.
  static Result<ShadowZoo> make(const std::string &root,
                                const std::vector<std::pair<std::string, std::string>> &files);
  std::string root() const { return (folder->path / name).string(); }

private:
  std::unique_ptr<TemporaryFolder> folder;
  std::string name; ///< As the zoo is called: its package is.
};

} // namespace cupel::testbench::procedures
