// One more input, and a batch of two.

#include "cupel/testbench/procedures/LoaderEdit.h"
#include "cupel/testbench/procedures/LoaderText.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::procedures {
namespace {

/// What load_inputs returns: its only return statement's expression.
Result<PythonNode> onlyReturn(const PythonTree &tree, PythonNode &function) {
  function = methodOf(tree, "ModelLoader", "load_inputs");
  if (!function)
    return Error{"the loader has no load_inputs of its own"};
  std::vector<PythonNode> found;
  walk(function.field("body"), [&](const PythonNode &node) {
    if (node.is("function_definition") || node.is("lambda"))
      return false;
    if (node.is("return_statement"))
      found.push_back(node);
    return true;
  });
  if (found.size() != 1 || found[0].children().empty())
    return Error{fmt::format("load_inputs returns in {} places", found.size())};
  return found[0].children().front();
}

std::string filled(std::string_view expression, std::string_view first) {
  std::string text(expression);
  for (size_t at; (at = text.find("{first}")) != std::string::npos;)
    text.replace(at, 7, first);
  return text;
}

/// The value that a name was given by a mapping, in the same function.
PythonNode mappingOf(const PythonNode &function, std::string_view name) {
  PythonNode found;
  walk(function.field("body"), [&](const PythonNode &node) {
    if (node.is("assignment") && node.field("left").text() == name)
      found = node.field("right");
    return true;
  });
  return found;
}

} // namespace

Result<LoaderFix> addInput(std::string_view loader, std::string_view name,
                           std::string_view expression, const std::vector<std::string> &signature) {
  Result<PythonTree> tree = PythonTree::parse(std::string(loader));
  if (!tree)
    return tree.error();
  PythonNode function;
  Result<PythonNode> returned = onlyReturn(*tree, function);
  if (!returned)
    return returned.error();
  if (std::ranges::find(signature, name) == signature.end())
    return Error{fmt::format("the model's forward takes no '{}'", name)};
  PythonNode value = *returned;
  std::vector<PythonNode> parts = value.children();
  std::erase_if(parts, [](const PythonNode &node) { return node.is("comment"); });

  if (value.is("dictionary")) {
    if (parts.empty() || !parts.front().is("pair"))
      return Error{fmt::format("line {}: this mapping cannot be added to", value.line())};
    std::string pair =
        fmt::format("\"{}\": {}", name, filled(expression, parts.front().field("value").text()));
    std::string_view behind =
        loader.substr(parts.back().end(), value.end() - 1 - parts.back().end());
    bool hasComma = behind.find(',') != std::string_view::npos;
    bool isOwnLine = behind.find('\n') != std::string_view::npos;
    size_t at = parts.back().end() + (hasComma ? behind.find(',') + 1 : 0);
    std::string text = (hasComma ? "" : ",") +
                       (isOwnLine ? "\n" + indentOf(loader, parts.back().begin()) : " ") + pair +
                       (isOwnLine && hasComma ? "," : "");
    return inserted(loader, at, text, value.line());
  }
  bool isSequence = value.is("list") || value.is("tuple") || value.is("expression_list");
  if (isSequence) {
    // By the names of the model's parameters; one that is called like a parameter is meant for it.
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i) {
      bool isNamed = parts[i].is("identifier") &&
                     std::ranges::find(signature, parts[i].text()) != signature.end();
      if (!isNamed && i >= signature.size())
        return Error{fmt::format("line {}: nobody knows which inputs these are", value.line())};
      text +=
          fmt::format("\"{}\": {}, ", isNamed ? parts[i].text() : std::string_view(signature[i]),
                      parts[i].text());
    }
    if (parts.empty())
      return Error{"load_inputs returns nothing"};
    bool isThere =
        std::ranges::any_of(parts, [&](const PythonNode &part) { return part.text() == name; });
    text = isThere
               ? text.substr(0, text.size() - 2)
               : text + fmt::format("\"{}\": {}", name, filled(expression, parts.front().text()));
    return replaced(loader, value.begin(), value.end(), "{" + text + "}", value.line());
  }
  if (value.is("identifier")) {
    PythonNode given = mappingOf(function, value.text());
    bool isMapping =
        given.is("dictionary") || (given.is("call") && given.field("function").text() == "dict");
    if (!isMapping && given.is("call") && !given.field("function").text().starts_with("torch."))
      return Error{fmt::format("line {}: {} makes the inputs, which nothing can be added to",
                               given.line(), given.field("function").text())};
    if (isMapping) {
      PythonNode statement = value.parent();
      std::string first;
      for (const PythonNode &pair : given.children())
        if (first.empty() && pair.is("pair"))
          first = fmt::format("{}[{}]", value.text(), pair.field("key").text());
      if (first.empty())
        return Error{fmt::format("line {}: the first input has no name", given.line())};
      std::string line =
          fmt::format("{}[\"{}\"] = {}\n{}", value.text(), name, filled(expression, first),
                      indentOf(loader, statement.begin()));
      return inserted(loader, statement.begin(), line, statement.line());
    }
  }
  if (signature.empty())
    return Error{"nobody knows what the model calls its input"};
  if (!value.is("identifier"))
    return Error{fmt::format("line {}: the input has no name to add another by", value.line())};
  std::string text = fmt::format("{{\"{}\": {}, \"{}\": {}}}", signature.front(), value.text(),
                                 name, filled(expression, value.text()));
  return replaced(loader, value.begin(), value.end(), text, value.line());
}

Result<LoaderFix> doubleBatch(std::string_view loader, size_t rank) {
  Result<PythonTree> tree = PythonTree::parse(std::string(loader));
  if (!tree)
    return tree.error();
  PythonNode function;
  Result<PythonNode> returned = onlyReturn(*tree, function);
  if (!returned)
    return returned.error();
  for (const PythonNode &parameter : function.field("parameters").children())
    if (parameter.field("name").text() == "batch_size") {
      PythonNode value = parameter.field("value");
      if (value.text() != "1")
        return Error{fmt::format("the batch is {} by default already", value.text())};
      return replaced(loader, value.begin(), value.end(), "2", parameter.line());
    }
  if (!returned->is("identifier") || rank == 0)
    return Error{"load_inputs has no batch_size, and gives more than one tensor"};
  std::string ones;
  for (size_t i = 1; i < rank; ++i)
    ones += ", 1";
  PythonNode statement = returned->parent();
  std::string line = fmt::format("{0} = {0}.repeat(2{1})\n{2}", returned->text(), ones,
                                 indentOf(loader, statement.begin()));
  return inserted(loader, statement.begin(), line, statement.line());
}

} // namespace cupel::testbench::procedures
