// Folders for workers to run in: one for each worker below the run's scratch folder, empty at the
// beginning of every test, gone at the end of the run. Used by the runner.
#pragma once

#include "cupel/support/Error.h"

#include <string>

namespace cupel::testbench::runner {

/// Makes `path` an empty folder.
Status makeEmptyFolder(const std::string &path);

/// Removes what a test left in `path`, if it left something; costs little where it did not.
void emptyFolder(const std::string &path);

/// Removes the folder and everything in it, as far as that is possible.
void removeFolder(const std::string &path);

} // namespace cupel::testbench::runner
