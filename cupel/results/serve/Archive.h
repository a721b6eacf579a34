// A folder as one file to download: a tar archive in memory, of regular files and folders only.
// Links are left out, so that what is packed lies in the folder.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <vector>

namespace cupel::results::serve {

/// `path` with links resolved, if it is one of `roots` or lies below one; an error otherwise.
Result<std::string> within(const std::vector<std::string> &roots, const std::string &path);

/// Everything below `folder`, under the name of the folder. Refuses more than `most` bytes.
Result<std::string> archiveOf(const std::string &folder, uint64_t most = uint64_t(1) << 30);

} // namespace cupel::results::serve
