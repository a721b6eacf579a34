// How tests are called by those who select them: `id`, `suite::id`, or the node id that pytest
// prints, `tests/runner/test_models.py::test_all_models_torch[id]`. Used by discovery to find the
// test that is meant, and by -k, which sees what pytest would see around an id. Knows the names of
// tt-xla's test functions and nothing about which tests exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cupel::testbench::selection {

/// Where tt-xla keeps the tests that are made from loaders.
inline constexpr std::string_view kPytestFile = "tests/runner/test_models.py";

/// One of pytest's test functions and the tests it stands for.
struct PytestFunction {
  std::string_view name;
  std::string_view suite;
  std::string_view framework; ///< Empty: any.
};
std::span<const PytestFunction> pytestFunctions();

/// The function that runs such a test upstream; empty for suites that upstream has not.
std::string_view pytestFunctionOf(std::string_view suite, std::string_view framework);

/// The suites there are.
std::span<const std::string_view> suiteNames();

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
