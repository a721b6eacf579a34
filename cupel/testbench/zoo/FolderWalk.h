// Walks a folder tree and reports its files. Used to find loaders and all other kinds of tests.
// Links to folders are not followed, so that no loop and nothing outside the tree is entered; what
// cannot be read is reported and the rest goes on.
#pragma once

#include "cupel/testbench/zoo/Remark.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::zoo {

struct WalkedFile {
  std::string_view folder; ///< Path of its folder, without a slash at the end.
  std::string_view name;
};

/// Calls `visit` for every regular file (or link to one) below `root`, folders in the order of
/// their names. Folders whose names begin with a dot and `__pycache__` are left out.
void walkFolder(const std::string &root, const std::function<void(const WalkedFile &)> &visit,
                std::vector<Remark> &problems);

} // namespace cupel::testbench::zoo
