// How tests are called by those who select them: `id`, `suite::id`, or the node id that pytest
// prints, `tests/runner/test_models.py::test_all_models_torch[id]`. Used by discovery to find the
// test that is meant, and by -k, which sees what pytest would see around an id. Knows nothing
// about which tests exist.
#pragma once

#include <string_view>

namespace cupel::testbench::selection {

/// Where tt-xla keeps the tests that are made from loaders.
inline constexpr std::string_view kPytestFile = "tests/runner/test_models.py";

/// A name taken apart; what it does not say is empty. The views are parts of the text.
struct ItemName {
  std::string_view suite;
  std::string_view framework;
  std::string_view file;
  std::string_view function; ///< Of pytest's spelling, also one that we do not know.
  std::string_view id;       ///< Empty: all tests of the file or function.

  bool operator==(const ItemName &) const = default;
};

/// A text that is in none of the longer forms is an id as a whole. Ids may contain slashes, dots
/// and brackets.
ItemName parseItemName(std::string_view text);

} // namespace cupel::testbench::selection
