// The suites that tests come in: the one list of their names, what reports call such tests, and the
// functions that tt-xla's pytest runs them with. How tests of a suite are found and served is a row
// of cupel/testbench/Kinds.cpp. Used by selection, reports and whoever takes names apart.
#pragma once

#include <span>
#include <string_view>

namespace cupel::results {

struct Suite {
  std::string_view name;
  std::string_view category; ///< As the JUnit report of upstream calls such tests.
  bool fromZoo = false;      ///< Made from model loaders and the configuration, as upstream does.
};

/// In the order in which they are listed.
std::span<const Suite> suites();

/// The suite of this name; null for one that is none of ours (a framework beyond upstream's).
const Suite *findSuite(std::string_view name);

/// One of pytest's test functions and the tests it stands for.
struct PytestFunction {
  std::string_view name;
  std::string_view suite;
  std::string_view framework; ///< Empty: any.
  bool isFormer = false;      ///< Still understood, not used any more.
};
std::span<const PytestFunction> pytestFunctions();

/// The function that runs such a test upstream; empty for suites that upstream has not.
std::string_view pytestFunctionOf(std::string_view suite, std::string_view framework);

} // namespace cupel::results
