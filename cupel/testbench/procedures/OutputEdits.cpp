// Who picks the tensor that training goes back from: a line of the registry, or the loader itself.

#include "cupel/testbench/procedures/LoaderEdit.h"
#include "cupel/testbench/procedures/LoaderText.h"

#include <fmt/format.h>

namespace cupel::testbench::procedures {
namespace {

struct Registration {
  PythonNode statement;
  std::string className, attribute;
};

/// The calls of `_register_attr` on the outermost level.
std::vector<Registration> registrationsOf(const PythonTree &tree) {
  std::vector<Registration> found;
  for (const PythonNode &statement : tree.root().children()) {
    if (!statement.is("expression_statement") || statement.children().empty())
      continue;
    PythonNode call = statement.children().front();
    if (!call.is("call") || call.field("function").text() != "_register_attr")
      continue;
    std::vector<PythonNode> given = call.field("arguments").children();
    if (given.size() < 2)
      continue;
    std::optional<std::string> name = plainString(given[0]), attribute = plainString(given[1]);
    if (name && attribute)
      found.push_back({statement, *name, *attribute});
  }
  return found;
}

} // namespace

bool hasOwnUnpack(std::string_view loader) {
  Result<PythonTree> tree = PythonTree::parse(std::string(loader));
  return tree && methodOf(*tree, "ModelLoader", "unpack_forward_output");
}

Result<LoaderFix> addUnpack(std::string_view loader, std::string_view expression,
                            std::string_view structure, std::string_view selected) {
  Result<PythonTree> tree = PythonTree::parse(std::string(loader));
  if (!tree)
    return tree.error();
  PythonNode last = methodOf(*tree, "ModelLoader", "load_inputs");
  if (!last)
    return Error{"the loader has no load_inputs of its own to stand behind"};
  if (methodOf(*tree, "ModelLoader", "unpack_forward_output"))
    return Error{"the loader has an unpack_forward_output already"};
  std::string outer = indentOf(loader, last.begin()), inner = outer + "    ";
  std::string text = fmt::format("\n{0}def unpack_forward_output(self, forward_output):\n"
                                 "{1}\"\"\"Picks what training goes back from.\n\n"
                                 "{1}Forward output structure: {2}\n"
                                 "{1}What is selected and why: {3}\n"
                                 "{1}\"\"\"\n"
                                 "{1}return {4}\n",
                                 outer, inner, structure, selected, expression);
  Result<LoaderFix> fix = insertedLine(loader, last.end(), text);
  if (fix) {
    ++fix->line; // The first is empty.
    fix->what = fmt::format("def unpack_forward_output: return {}", expression);
  }
  return fix;
}

Result<LoaderFix> registerOutput(std::string_view registry, std::string_view className,
                                 std::string_view attribute) {
  Result<PythonTree> tree = PythonTree::parse(std::string(registry));
  if (!tree)
    return tree.error();
  std::vector<Registration> known = registrationsOf(*tree);
  if (known.empty())
    return Error{"the registry has no line to stand beside"};
  std::string line = fmt::format("_register_attr(\"{}\", \"{}\")\n", className, attribute);
  for (const Registration &one : known)
    if (one.className > className)
      return inserted(registry, one.statement.begin(), line, one.statement.line());
  return insertedLine(registry, known.back().statement.end(), line);
}

Result<LoaderFix> unregisterOutput(std::string_view registry, std::string_view className) {
  Result<PythonTree> tree = PythonTree::parse(std::string(registry));
  if (!tree)
    return tree.error();
  for (const Registration &one : registrationsOf(*tree))
    if (one.className == className) {
      size_t end = std::min(registry.find('\n', one.statement.end()), registry.size() - 1) + 1;
      return replaced(registry, one.statement.begin(), end, "", one.statement.line());
    }
  return Error{fmt::format("{} is not registered", className)};
}

std::optional<std::string> registeredAttribute(std::string_view registry,
                                               std::string_view className) {
  Result<PythonTree> tree = PythonTree::parse(std::string(registry));
  if (tree)
    for (const Registration &one : registrationsOf(*tree))
      if (one.className == className)
        return one.attribute;
  return std::nullopt;
}

} // namespace cupel::testbench::procedures
