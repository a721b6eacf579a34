#include "cupel/testbench/matrix/NamedTests.h"

#include "cupel/support/Text.h"
#include "cupel/testbench/selection/Names.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::matrix {

Result<std::vector<uint32_t>> testsNamed(Table &table, const std::string &text,
                                         const std::vector<std::string> &suites) {
  selection::ItemName name = selection::parseItemName(text);
  // Frameworks beyond those of upstream are suites of their own.
  if (size_t colons = text.find("::"); name.suite.empty() && colons != std::string::npos &&
                                       std::find(table.suites.begin(), table.suites.end(),
                                                 text.substr(0, colons)) != table.suites.end()) {
    name.suite = std::string_view(text).substr(0, colons);
    name.id = std::string_view(text).substr(colons + 2);
  }
  std::vector<uint32_t> named;
  if (name.id.empty() && (!name.suite.empty() || !name.file.empty())) {
    // A whole function or file of pytest's, or a whole suite.
    for (uint32_t row = 0; row < table.size(); ++row)
      if ((name.suite.empty() || table.suiteOf(row) == name.suite) &&
          (name.framework.empty() || table.frameworkOf(row) == name.framework))
        named.push_back(row);
    return named;
  }
  if (!name.suite.empty()) {
    if (uint32_t row = table.find(name.suite, name.id); row != kNone)
      named.push_back(row);
  } else {
    // An id alone means the model's test; its op-by-op twin has the same and must be spelt out.
    for (const std::string &suite : table.suites) {
      uint32_t row =
          suite == "op_by_op" && suites.empty() ? kNone : table.find(suite, name.id);
      if (row != kNone)
        named.push_back(row);
    }
  }
  if (!named.empty())
    return named;
  std::vector<std::string> known;
  std::vector<std::string_view> views;
  size_t length = name.id.size();
  for (uint32_t row = 0; row < table.size(); ++row) {
    std::string id;
    table.appendId(row, id);
    // Distances are dear; only ids of about this length can be near.
    if (id.size() + 3 >= length && id.size() <= length + 3)
      known.push_back(std::move(id));
  }
  views.assign(known.begin(), known.end());
  std::string_view near = nearestWord(name.id, views);
  return Error{fmt::format("there is no test '{}' and no such file{}", text,
                           near.empty() ? "; `cupel list` shows all"
                                        : fmt::format("; did you mean '{}'?", near))};
}

} // namespace cupel::testbench::matrix
