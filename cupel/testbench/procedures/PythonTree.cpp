#include "cupel/testbench/procedures/PythonTree.h"

extern "C" const TSLanguage *tree_sitter_python(void);

namespace cupel::testbench::procedures {
std::string_view PythonNode::kind() const { return exists() ? ts_node_type(node) : ""; }
size_t PythonNode::begin() const { return ts_node_start_byte(node); }
size_t PythonNode::end() const { return ts_node_end_byte(node); }
uint32_t PythonNode::line() const { return ts_node_start_point(node).row + 1; }
std::string_view PythonNode::text() const {
  return exists() ? source.substr(begin(), end() - begin()) : std::string_view();
}

PythonNode PythonNode::field(std::string_view name) const {
  if (!exists())
    return {};
  return {ts_node_child_by_field_name(node, name.data(), uint32_t(name.size())), source};
}

std::vector<PythonNode> PythonNode::children() const {
  std::vector<PythonNode> all;
  if (!exists())
    return all;
  uint32_t count = ts_node_named_child_count(node);
  for (uint32_t i = 0; i < count; ++i)
    all.emplace_back(ts_node_named_child(node, i), source);
  return all;
}

PythonNode PythonNode::parent() const {
  if (!exists())
    return {};
  return {ts_node_parent(node), source};
}

Result<PythonTree> PythonTree::parse(std::string text) {
  PythonTree made;
  made.source = std::make_unique<std::string>(std::move(text));
  std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), ts_parser_delete);
  if (!ts_parser_set_language(parser.get(), tree_sitter_python()))
    return Error{"the grammar of Python does not fit this tree-sitter"};
  made.tree.reset(ts_parser_parse_string(parser.get(), nullptr, made.source->data(),
                                         uint32_t(made.source->size())),
                  ts_tree_delete);
  if (!made.tree || ts_node_has_error(ts_tree_root_node(made.tree.get())))
    return Error{"it is no valid Python"};
  return made;
}

PythonNode PythonTree::root() const { return {ts_tree_root_node(tree.get()), *source}; }

void walk(const PythonNode &node, const std::function<bool(const PythonNode &)> &visit) {
  if (!visit(node))
    return;
  for (const PythonNode &child : node.children())
    walk(child, visit);
}

/// A definition, with or without decorators.
static PythonNode definitionIn(const PythonNode &node) {
  return node.is("decorated_definition") ? node.field("definition") : node;
}

PythonNode methodOf(const PythonTree &tree, std::string_view className, std::string_view name) {
  for (const PythonNode &outer : tree.root().children())
    if (PythonNode type = definitionIn(outer);
        type.is("class_definition") && type.field("name").text() == className)
      for (const PythonNode &inner : type.field("body").children())
        if (PythonNode method = definitionIn(inner);
            method.is("function_definition") && method.field("name").text() == name)
          return method;
  return {};
}

bool hasParameter(const PythonNode &function, std::string_view name) {
  for (const PythonNode &parameter : function.field("parameters").children()) {
    PythonNode own = parameter.field("name");
    if (!own && !parameter.children().empty() && !parameter.is("identifier"))
      own = parameter.children().front(); // A typed one without a default.
    if ((own ? own : parameter).text() == name)
      return true;
  }
  return false;
}

std::optional<std::string> plainString(const PythonNode &node) {
  if (!node.is("string"))
    return std::nullopt;
  std::string_view text = node.text();
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') ||
      text.back() != text.front())
    return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\\\"'\n{") != std::string_view::npos)
    return std::nullopt;
  return std::string(text);
}

} // namespace cupel::testbench::procedures
