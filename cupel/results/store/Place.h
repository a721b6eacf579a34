// Where a store is: a folder, which always holds journals and artifacts, and the database, which is
// a file in that folder or an address of a PostgreSQL server. An address never holds a secret: it
// is shown in messages, kept in records of runs and visible to `ps`.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>

namespace cupel::results {

/// Whether `text` is `postgresql://...`, and no folder.
bool isDatabaseAddress(std::string_view text);

struct StorePlace {
  std::string folder;
  std::string database; ///< An address; empty: `results.sqlite` in the folder.

  /// `text` is a folder, or an address whose files are then kept in `files`.
  static StorePlace of(std::string text, std::string files);
};

/// An error where the address is none, or holds a password.
Status refuseSecrets(const std::string &address);

} // namespace cupel::results
