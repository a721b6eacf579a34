// The files of web/ as they were when Cupel was built: the server and the static report hand them
// out by name, so that neither ever opens a path that a request names.
#pragma once

#include <span>
#include <string_view>

namespace cupel::results::serve {

struct PageFile {
  std::string_view name;  ///< `index.html`, `js/table.js`
  std::string_view type;  ///< Of its contents.
  std::string_view bytes;
};

std::span<const PageFile> pageFiles();
/// Null where there is none of that name.
const PageFile *findPage(std::string_view name);

} // namespace cupel::results::serve
