// Python source as a small tree: what the static evaluator needs of a module, with the bodies of
// functions left out until one is called. Made with tree-sitter and independent of it afterwards.
// Reading never runs anything, and any bytes whatever may be given to it.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::zoo {

enum class NodeKind : uint8_t {
  // Expressions. `text` and `children` hold what is said; a null child is something left out.
  Name,          // text
  String,        // text, decoded
  Bytes,         //
  FString,       // children: String or Interpolation
  Interpolation, // children: expression; text: conversion and format, empty for plain ones
  Number,        // text as written
  True,
  False,
  None,
  Ellipsis,
  Tuple,             // children
  List,              // children
  Set,               // children
  Dict,              // children: Pair or DoubleStar
  Pair,              // children: key, value
  Star,              // children: expression
  DoubleStar,        // children: expression
  Attribute,         // children: object; text: attribute
  Subscript,         // children: object, index
  Slice,             // children: begin, end, step, each possibly null
  Call,              // children: function, arguments... (expressions, Keyword, Star, DoubleStar)
  Keyword,           // text: name; children: value
  Unary,             // text: operator; children: operand
  Binary,            // text: operator; children: left, right
  Boolean,           // text: and, or; children: left, right
  Compare,           // children: operand, (Operator, operand)...
  Operator,          // text
  Conditional,       // children: value, condition, otherwise
  NamedExpression,   // text: name; children: value
  Lambda,            // children: Parameters, body
  ListComprehension, // children: element, clauses...
  SetComprehension,  //
  Generator,         //
  DictComprehension, // children: Pair, clauses...
  ForClause,         // children: target, iterable
  IfClause,          // children: condition
  UnknownExpression, // text: what tree-sitter calls it

  // Statements.
  Block,           // children: statements
  Expression,      // children: expression
  Assign,          // children: target, value (which may be another Assign: a = b = 1)
  AnnotatedAssign, // children: target, value or null
  AugmentedAssign, // text: operator without '='; children: target, value
  Return,          // children: expression or null
  If,              // children: condition, Block, otherwise (Block, If or null)
  For,             // children: target, iterable, Block, else Block or null
  Try,             // children: Block, handlers' Blocks..., (else and finally: text of the Block)
  With,            // children: Block
  ClassDef,        // text: name; children: Block, bases and keywords..., Decorator...
  FunctionDef,     // text: name; children: Parameters, Decorator...; body read on demand
  Decorator,       // children: expression
  Parameters,      // children: Parameter...
  Parameter,       // text: name; children: default or null; `flag`: one of ParameterForm
  Import,          // text: dotted name; children: Name (alias) or null
  ImportFrom,      // text: module with leading dots; children: ImportedName...; none for `*`
  ImportedName,    // text: name; children: Name (alias) or null
  Raise,
  Pass, // also what has no effect on names: assert, docstrings
  Break,
  Continue,
  UnknownStatement, // text: what tree-sitter calls it
};

enum class ParameterForm : uint8_t { Plain, KeywordOnly, Star, DoubleStar };

struct Node {
  NodeKind kind;
  uint8_t flag = 0;
  uint32_t line = 0, column = 0; ///< From 1.
  uint32_t begin = 0, end = 0;   ///< Bytes of the source; of a FunctionDef, its whole text.
  std::string_view text = {};
  std::span<Node *const> children = {};

  const Node *child(size_t index) const {
    return index < children.size() ? children[index] : nullptr;
  }
};

/// Where a source is wrong, and how.
struct SyntaxProblem {
  uint32_t line = 0, column = 0;
  std::string message;
};

/// Nodes, lists and strings that live as long as their module; freed all at once.
class NodeArena {
public:
  Node *make(NodeKind kind) {
    return new (memory.allocate(sizeof(Node), alignof(Node))) Node{kind};
  }
  std::span<Node *const> keep(const std::vector<Node *> &list);
  std::string_view keep(std::string_view text);

private:
  std::pmr::monotonic_buffer_resource memory{4096};
};

/// One module: its text, and the tree of it or what is wrong with it.
class PythonModule {
public:
  /// Parses `source`; never fails, see `problem`.
  static std::shared_ptr<PythonModule> parse(std::string source);

  const Node *root() const { return rootNode; }
  const std::string &source() const { return text; }
  /// Set where the text is not Python; `root` then has what could be made of it.
  const std::unique_ptr<SyntaxProblem> &problem() const { return wrong; }

  /// The body of a function of this module, parsed when first asked for; safe from several threads.
  const Node *body(const Node *function) const;

private:
  std::string text;
  NodeArena arena;
  const Node *rootNode = nullptr;
  std::unique_ptr<SyntaxProblem> wrong;

  mutable std::mutex bodiesMutex;
  mutable NodeArena bodiesArena;
  mutable std::vector<std::pair<const Node *, const Node *>> bodies;
};

} // namespace cupel::testbench::zoo
