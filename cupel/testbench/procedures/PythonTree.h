// The concrete syntax tree of a Python file, for edits that change what must change and no byte
// more. A thin cover of tree-sitter: nodes know their text and place. Whoever only wants to know
// what a loader says reads it with testbench/zoo.
#pragma once

#include "cupel/support/Error.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tree_sitter/api.h>
#include <vector>

namespace cupel::testbench::procedures {

/// A node; lives as long as its tree. An empty one has no kind.
class PythonNode {
public:
  PythonNode() = default;
  PythonNode(TSNode node, std::string_view source) : node(node), source(source) {}
  bool exists() const { return !ts_node_is_null(node); }
  explicit operator bool() const { return exists(); }
  std::string_view kind() const; ///< `call`, `identifier`, `return_statement`, ...
  bool is(std::string_view wanted) const { return exists() && kind() == wanted; }
  std::string_view text() const;
  size_t begin() const;
  size_t end() const;
  uint32_t line() const; ///< From 1.
  PythonNode field(std::string_view name) const;
  /// Without punctuation; comments are among them.
  std::vector<PythonNode> children() const;
  PythonNode parent() const;

private:
  TSNode node = {};
  std::string_view source;
};

class PythonTree {
public:
  /// Fails for what is no Python.
  static Result<PythonTree> parse(std::string text);

  const std::string &text() const { return *source; }
  PythonNode root() const;

private:
  PythonTree() = default;
  std::unique_ptr<std::string> source;
  std::shared_ptr<TSTree> tree;
};

/// Calls `visit` with the node and all below it, in order; where it returns false, nothing below is
/// visited.
void walk(const PythonNode &node, const std::function<bool(const PythonNode &)> &visit);

/// The function of this name that is directly in a class of this name; an empty node where there is
/// none.
PythonNode methodOf(const PythonTree &tree, std::string_view className, std::string_view name);

/// Whether a function has a parameter of this name.
bool hasParameter(const PythonNode &function, std::string_view name);

/// A text without its quotes; nothing for what is no plain string.
std::optional<std::string> plainString(const PythonNode &node);

} // namespace cupel::testbench::procedures
