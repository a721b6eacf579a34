// Named values in both directions: options for a client, attributes of plugins and devices. The
// host owns copies of its own; what a plugin hands over is checked before it is read.
#pragma once

#include "cupel/pjrt/Structs.h"
#include "cupel/pjrt/host/PluginErrors.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cupel::pjrt {

struct NamedValue {
  std::string name;
  std::variant<std::string, int64_t, std::vector<int64_t>, float, bool> value;

  /// The value alone: `"text"`, `3`, `[1,2]`, `0.5`, `true`.
  std::string str() const;
  bool operator==(const NamedValue &) const = default;
};

/// `name=value` as it is typed on a command line: true and false are booleans, whole numbers
/// integers, numbers with a point floats, `1,2,3` and `[1]` lists, everything else and everything
/// in quotes a string.
Result<NamedValue> parseNamedValue(std::string_view text);

/// The array as the API wants it; it points into `values`, which must outlive it.
std::vector<PJRT_NamedValue> toPjrt(const std::vector<NamedValue> &values);

/// Copies what a plugin answered to `call`.
Result<std::vector<NamedValue>> fromPjrt(const PJRT_NamedValue *values, size_t count,
                                         std::string_view call);

} // namespace cupel::pjrt
