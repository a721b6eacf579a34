// Turns tree-sitter's tree of a Python file into ours. PythonSyntax.cpp alone makes one;
// statements are in PythonStatements.cpp, expressions in PythonExpressions.cpp.
#pragma once

#include "cupel/testbench/zoo/PythonGrammar.h"
#include "cupel/testbench/zoo/PythonSyntax.h"

#include <string_view>
#include <vector>

namespace cupel::testbench::zoo {

/// A child of a tree-sitter node with the field it stands in.
struct Child {
  TSNode node;
  TSFieldId field;
  Form form;
  bool named;
};

class Converter {
public:
  Converter(std::string_view source, NodeArena &arena, TSNode root)
      : source(source), arena(arena), cursor(ts_tree_cursor_new(root)) {}
  ~Converter() { ts_tree_cursor_delete(&cursor); }
  Converter(const Converter &) = delete;
  Converter &operator=(const Converter &) = delete;

  Node *block(TSNode node);

private:
  /// Expressions nested deeper than this are not looked into; nobody writes them, and the recursion
  /// must end.
  static constexpr int kMaxDepth = 400;

  Node *make(NodeKind kind, TSNode node) {
    Node *made = arena.make(kind);
    TSPoint point = ts_node_start_point(node);
    made->line = point.row + 1;
    made->column = point.column + 1;
    made->begin = ts_node_start_byte(node);
    made->end = ts_node_end_byte(node);
    return made;
  }

  Node *make(NodeKind kind, TSNode node, std::vector<Node *> children, std::string_view text = {}) {
    Node *made = make(kind, node);
    made->children = arena.keep(children);
    made->text = text;
    return made;
  }

  std::string_view textOf(TSNode node) const {
    uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    return source.substr(begin, end - begin);
  }

  /// All children but comments.
  std::vector<Child> childrenOf(TSNode node) {
    std::vector<Child> children;
    ts_tree_cursor_reset(&cursor, node);
    if (!ts_tree_cursor_goto_first_child(&cursor))
      return children;
    do {
      TSNode child = ts_tree_cursor_current_node(&cursor);
      Form form = Grammar::get().form(ts_node_symbol(child));
      if (form != Form::Comment && form != Form::LineContinuation)
        children.push_back(
            {child, ts_tree_cursor_current_field_id(&cursor), form, ts_node_is_named(child)});
    } while (ts_tree_cursor_goto_next_sibling(&cursor));
    return children;
  }

  static const Child *find(const std::vector<Child> &children, TSFieldId field) {
    for (const Child &child : children)
      if (child.field == field)
        return &child;
    return nullptr;
  }

  Node *optional(const Child *child) {
    return child ? expression(child->node, child->form) : nullptr;
  }

  Node *blockOf(const Child *child) { return child ? block(child->node) : nullptr; }

  // PythonStatements.cpp
  void statement(TSNode node, Form form, std::vector<Node *> &out);
  Node *statement(TSNode node, Form form);
  Node *unknownStatement(TSNode node);
  const Child *bodyOf(TSNode clause);
  Node *assignment(TSNode node, Form form);
  Node *classDefinition(TSNode node, const std::vector<Node *> &decorators);
  Node *functionDefinition(TSNode node, const std::vector<Node *> &decorators);
  Node *parameters(const Child *list, TSNode owner);

  // PythonExpressions.cpp
  void arguments(TSNode list, std::vector<Node *> &out);
  Node *sequence(NodeKind kind, TSNode node);
  Node *comprehension(NodeKind kind, TSNode node);
  Node *string(TSNode node);
  Node *unknownExpression(TSNode node);
  Node *expression(TSNode node, Form form);
  Node *shallowExpression(TSNode node, Form form);

  std::string_view source;
  NodeArena &arena;
  TSTreeCursor cursor;
  std::vector<Child> scratch;
  int depth = 0;
};

} // namespace cupel::testbench::zoo
