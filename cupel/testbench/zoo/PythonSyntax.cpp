#include "cupel/testbench/zoo/PythonSyntax.h"

#include "cupel/testbench/zoo/PythonConverter.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::zoo {
namespace {

/// What tree-sitter calls a stretch that fits nothing.
constexpr TSSymbol kErrorSymbol = static_cast<TSSymbol>(-1);

/// The first place where the grammar does not hold.
std::unique_ptr<SyntaxProblem> firstProblem(TSNode root, std::string_view source) {
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  std::unique_ptr<SyntaxProblem> problem;
  auto note = [&](TSNode node, std::string message) {
    TSPoint point = ts_node_start_point(node);
    problem = std::make_unique<SyntaxProblem>();
    *problem = {point.row + 1, point.column + 1, std::move(message)};
  };
  for (bool descend = true;;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    if (descend) {
      if (ts_node_is_missing(node)) {
        note(node, fmt::format("this is not valid Python: '{}' is missing", ts_node_type(node)));
        break;
      }
      if (ts_node_symbol(node) == kErrorSymbol) {
        uint32_t begin = ts_node_start_byte(node);
        std::string_view near = source.substr(begin, 24);
        near = near.substr(0, near.find_first_of("\r\n"));
        while (!near.empty() && (static_cast<unsigned char>(near.back()) & 0x80))
          near.remove_suffix(1);
        note(node, near.empty() ? std::string("this is not valid Python")
                                : fmt::format("this is not valid Python, near '{}'", near));
        break;
      }
    }
    // Only what contains an error needs to be searched.
    if (descend && ts_node_has_error(node) && ts_tree_cursor_goto_first_child(&cursor))
      continue;
    if (ts_tree_cursor_goto_next_sibling(&cursor)) {
      descend = true;
      continue;
    }
    if (!ts_tree_cursor_goto_parent(&cursor))
      break;
    descend = false;
  }
  ts_tree_cursor_delete(&cursor);
  if (!problem && ts_node_has_error(root))
    note(root, "this is not valid Python");
  return problem;
}

/// One parser a thread: making one costs more than a small file.
TSParser *threadParser() {
  struct Owner {
    TSParser *parser = ts_parser_new();
    Owner() { ts_parser_set_language(parser, Grammar::get().language); }
    ~Owner() { ts_parser_delete(parser); }
  };
  static thread_local Owner owner;
  ts_parser_reset(owner.parser);
  return owner.parser;
}

} // namespace

std::span<Node *const> NodeArena::keep(const std::vector<Node *> &list) {
  if (list.empty())
    return {};
  auto *copy = static_cast<Node **>(memory.allocate(list.size() * sizeof(Node *), alignof(Node *)));
  std::copy(list.begin(), list.end(), copy);
  return {copy, list.size()};
}

std::string_view NodeArena::keep(std::string_view text) {
  if (text.empty())
    return {};
  auto *copy = static_cast<char *>(memory.allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

std::shared_ptr<PythonModule> PythonModule::parse(std::string source) {
  auto module = std::make_shared<PythonModule>();
  module->text = std::move(source);
  TSParser *parser = threadParser();
  ts_parser_set_included_ranges(parser, nullptr, 0);
  TSTree *tree = ts_parser_parse_string(parser, nullptr, module->text.data(),
                                        static_cast<uint32_t>(module->text.size()));
  TSNode root = ts_tree_root_node(tree);
  if (ts_node_has_error(root))
    module->wrong = firstProblem(root, module->text);
  module->rootNode = Converter(module->text, module->arena, root).block(root);
  ts_tree_delete(tree);
  return module;
}

const Node *PythonModule::body(const Node *function) const {
  std::lock_guard lock(bodiesMutex);
  for (auto &[known, body] : bodies)
    if (known == function)
      return body;
  // Parsed again, this function alone, at its own place in the file.
  TSRange range = {{function->line - 1, function->column - 1},
                   {UINT32_MAX, UINT32_MAX},
                   function->begin,
                   function->end};
  TSParser *parser = threadParser();
  ts_parser_set_included_ranges(parser, &range, 1);
  TSTree *tree =
      ts_parser_parse_string(parser, nullptr, text.data(), static_cast<uint32_t>(text.size()));
  TSNode root = ts_tree_root_node(tree);
  const Node *body = nullptr;
  TSNode definition = ts_node_named_child(root, 0);
  if (!ts_node_is_null(definition)) {
    TSNode found = ts_node_child_by_field_id(definition, Grammar::get().body);
    if (!ts_node_is_null(found))
      body = Converter(text, bodiesArena, root).block(found);
  }
  ts_tree_delete(tree);
  bodies.emplace_back(function, body);
  return body;
}

} // namespace cupel::testbench::zoo
