// Where a floating input gets its type from, and how it gets the requested one.

#include "cupel/testbench/procedures/LoaderEdit.h"
#include "cupel/testbench/procedures/LoaderText.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::procedures {
namespace {

constexpr std::string_view kDtype = "dtype_override";

/// torch's functions that make a tensor of the default type unless they are told another.
bool isConstructor(std::string_view function) {
  static constexpr std::string_view kNames[] = {"zeros",  "ones",     "full",   "empty", "randn",
                                                "rand",   "tensor",   "arange", "eye",   "linspace",
                                                "normal", "logspace", "randint"};
  return function.starts_with("torch.") &&
         std::ranges::find(kNames, function.substr(6)) != std::end(kNames);
}

/// Methods after which a tensor has another type than its constructor gave it.
bool changesType(std::string_view method) {
  static constexpr std::string_view kNames[] = {"to",   "float",   "double", "half", "bfloat16",
                                                "type", "type_as", "long",   "int",  "bool"};
  return std::ranges::find(kNames, method) != std::end(kNames);
}

PythonNode keywordOf(const PythonNode &call, std::string_view name) {
  for (const PythonNode &argument : call.field("arguments").children())
    if (argument.is("keyword_argument") && argument.field("name").text() == name)
      return argument.field("value");
  return {};
}

/// The statement that gave `name` its value last before `before`, within a function.
PythonNode assignmentOf(const PythonNode &function, std::string_view name, size_t before) {
  PythonNode found;
  walk(function.field("body"), [&](const PythonNode &node) {
    if (node.is("function_definition") || node.is("lambda"))
      return false;
    if (node.is("assignment") && node.field("left").text() == name && node.end() <= before)
      found = node;
    return true;
  });
  return found;
}

/// All expressions that an input of this name or place is given in a function.
std::vector<PythonNode> valuesOf(const PythonNode &function, std::string_view name,
                                 std::optional<size_t> position) {
  std::vector<PythonNode> values;
  walk(function.field("body"), [&](const PythonNode &node) {
    if (node.is("function_definition") || node.is("lambda"))
      return false;
    if (!name.empty() && node.is("pair") && plainString(node.field("key")) == name)
      values.push_back(node.field("value"));
    if (!name.empty() && node.is("assignment")) {
      PythonNode left = node.field("left");
      if (left.is("subscript") && plainString(left.field("subscript")) == name)
        values.push_back(node.field("right"));
    }
    if (!name.empty() && node.is("call") && node.field("function").text() == "dict")
      if (PythonNode value = keywordOf(node, name))
        values.push_back(value);
    if (node.is("return_statement") && !node.children().empty()) {
      PythonNode given = node.children().front();
      bool isSequence = given.is("list") || given.is("tuple") || given.is("expression_list");
      if (position && isSequence && *position < given.children().size())
        values.push_back(given.children()[*position]);
      else if (!position && name.empty())
        values.push_back(given);
    }
    return true;
  });
  return values;
}

class Search {
public:
  Search(std::string_view loader, const PythonNode &function)
      : loader(loader), function(function) {}

  /// Follows an expression back to what makes the tensor. What a helper makes is cast, where the
  /// expression is a variable of its own.
  Result<LoaderFix> follow(PythonNode value, size_t before, bool mayCast = true, int steps = 0) {
    if (steps > 8)
      return Error{"where it comes from is too far away"};
    while (value.is("parenthesized_expression"))
      value = value.children().front();
    if (value.is("identifier")) {
      PythonNode assignment = assignmentOf(function, value.text(), before);
      if (!assignment)
        return Error{fmt::format("'{}' gets its value elsewhere", value.text())};
      PythonNode right = assignment.field("right");
      Result<LoaderFix> inner = follow(right, assignment.begin(), false, steps + 1);
      if (inner || !right.is("call") || isTypeKnown || !mayCast)
        return inner;
      return castAfter(assignment);
    }
    if (!value.is("call"))
      return Error{fmt::format("line {}: no constructor of torch makes it", value.line())};
    std::string_view called = value.field("function").text();
    if (isConstructor(called)) {
      if (keywordOf(value, "dtype")) {
        isTypeKnown = true;
        return Error{fmt::format("line {}: {} has a dtype already", value.line(), called)};
      }
      return addDtype(value);
    }
    // `torch.ones(2).unsqueeze(0)`: the tensor that a method is called on.
    PythonNode of = value.field("function"), object = of.field("object");
    if (of.is("attribute") &&
        (object.is("call") || assignmentOf(function, object.text(), before))) {
      if (changesType(of.field("attribute").text())) {
        isTypeKnown = true;
        return Error{fmt::format("line {}: it is cast there already", value.line())};
      }
      return follow(object, before, false, steps + 1);
    }
    return Error{fmt::format("line {}: {} makes it, which takes no dtype", value.line(), called)};
  }

private:
  Result<LoaderFix> addDtype(const PythonNode &call) {
    PythonNode arguments = call.field("arguments");
    std::vector<PythonNode> all = arguments.children();
    std::erase_if(all, [](const PythonNode &node) { return node.is("comment"); });
    if (!arguments.is("argument_list"))
      return Error{
          fmt::format("line {}: it is called in a way that cannot be edited", call.line())};
    std::string word = fmt::format("dtype={}", kDtype);
    size_t at = all.empty() ? arguments.begin() + 1 : all.back().end();
    std::string_view behind = loader.substr(at, arguments.end() - 1 - at);
    bool hasComma = behind.find(',') != std::string_view::npos;
    std::string insertion = all.empty() ? word : ", " + word;
    if (hasComma) {
      // A call over several lines with a comma behind each argument.
      at += behind.find(',') + 1;
      bool isOwnLine = loader.substr(at, arguments.end() - at).find('\n') != std::string_view::npos;
      insertion = isOwnLine ? "\n" + indentOf(loader, all.back().begin()) + word + "," : " " + word;
    }
    return inserted(loader, at, insertion, call.line());
  }

  Result<LoaderFix> castAfter(const PythonNode &assignment) {
    PythonNode left = assignment.field("left"), statement = assignment.parent();
    if (!left.is("identifier") || !statement.is("expression_statement"))
      return Error{fmt::format("line {}: there is no place for a cast", assignment.line())};
    std::string name(left.text());
    std::string line = fmt::format("{0}{1} = {1}.to({2}) if {2} is not None else {1}\n",
                                   indentOf(loader, statement.begin()), name, kDtype);
    return insertedLine(loader, statement.end(), line);
  }

  std::string_view loader;
  const PythonNode &function;
  bool isTypeKnown = false;
};

} // namespace

Result<LoaderFix> honourDtype(std::string_view loader, std::string_view name,
                              std::optional<size_t> position, bool isOfModel) {
  Result<PythonTree> tree = PythonTree::parse(std::string(loader));
  if (!tree)
    return tree.error();
  const char *method = isOfModel ? "load_model" : "load_inputs";
  PythonNode function = methodOf(*tree, "ModelLoader", method);
  if (!function)
    return Error{fmt::format("the loader has no {} of its own", method)};
  if (!hasParameter(function, kDtype))
    return Error{fmt::format("{} does not know {}", method, kDtype)};
  std::string_view last =
      name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  std::vector<PythonNode> values = valuesOf(function, isOfModel ? last : name, position);
  if (isOfModel) {
    // register_buffer("mask", torch.ones(4)), model.mask = torch.ones(4).
    walk(function.field("body"), [&](const PythonNode &node) {
      if (node.is("call") && node.field("function").text().ends_with("register_buffer")) {
        std::vector<PythonNode> given = node.field("arguments").children();
        if (given.size() >= 2 && plainString(given[0]) == last)
          values.push_back(given[1]);
      }
      if (node.is("assignment") && node.field("left").is("attribute") &&
          node.field("left").field("attribute").text() == last)
        values.push_back(node.field("right"));
      return true;
    });
  } else if (values.empty() && !name.empty()) {
    if (PythonNode assignment = assignmentOf(function, name, function.end()))
      values.push_back(assignment.field("left"));
  }
  if (values.empty())
    return Error{fmt::format("{} does not say what makes {}", method,
                             name.empty() ? "its input" : "'" + std::string(name) + "'")};
  if (values.size() > 1)
    return Error{fmt::format("{} makes '{}' in {} places", method, name, values.size())};
  Search search(loader, function);
  // What is assigned in the very statement counts as before it.
  return search.follow(values.front(),
                       values.front().is("identifier") && !values.front().parent().is("assignment")
                           ? values.front().begin()
                           : function.end());
}

} // namespace cupel::testbench::procedures
