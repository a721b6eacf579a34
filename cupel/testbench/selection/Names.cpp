#include "cupel/testbench/selection/Names.h"

#include "cupel/results/Suites.h"

namespace cupel::testbench::selection {

namespace {

const results::PytestFunction *findFunction(std::string_view name) {
  for (const results::PytestFunction &function : results::pytestFunctions())
    if (function.name == name)
      return &function;
  return nullptr;
}

/// `function` or `function[id]`.
ItemName parseFunction(std::string_view file, std::string_view text) {
  ItemName name;
  name.file = file;
  size_t bracket = text.find('[');
  if (bracket != std::string_view::npos && text.ends_with(']'))
    name.id = text.substr(bracket + 1, text.size() - bracket - 2);
  name.function = text.substr(0, bracket);
  if (const results::PytestFunction *known = findFunction(name.function)) {
    name.suite = known->suite;
    name.framework = known->framework;
  }
  return name;
}

} // namespace

ItemName parseItemName(std::string_view text) {
  size_t colons = text.find("::");
  if (colons != std::string_view::npos) {
    std::string_view left = text.substr(0, colons);
    std::string_view right = text.substr(colons + 2);
    if (left.ends_with(".py"))
      return parseFunction(left, right);
    if (results::findSuite(left)) {
      ItemName name;
      name.suite = left;
      name.id = right;
      return name;
    }
  } else if (text.ends_with(".py")) {
    ItemName name;
    name.file = text;
    return name;
  } else if (text.ends_with(']') && findFunction(text.substr(0, text.find('[')))) {
    return parseFunction({}, text);
  }
  ItemName name;
  name.id = text;
  return name;
}

} // namespace cupel::testbench::selection
