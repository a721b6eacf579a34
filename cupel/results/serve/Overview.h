// All tests at a glance: the last outcome of each on every architecture and device, or those of one
// run, in columns, as the pages take them; and which of them an expression of -k or -m means. Made
// once for a state of the store and then only read.
#pragma once

#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results::serve {

class Overview {
public:
  /// `run` empty: every test's last outcomes.
  static Result<std::shared_ptr<const Overview>> read(Store &store, const std::string &run);

  /// `{"schema": "cupel-overview-1", "count": N, "columns": {...}}`: a column is a list of N values,
  /// or `{"words": [...], "codes": [...]}` where values repeat.
  const std::string &json() const { return text; }
  size_t size() const { return rows.size(); }
  /// The rows that both expressions hold for; the error says at which column one is wrong.
  Result<std::vector<uint32_t>> select(std::string_view keyword, std::string_view markers) const;

private:
  /// What expressions look at.
  struct Row {
    std::string suite, id, framework, file;
    std::vector<std::string> markers;
  };
  std::vector<Row> rows;
  std::string text;
};

} // namespace cupel::results::serve
