#include "cupel/testbench/zoo/PythonSyntax.h"

#include "cupel/testbench/zoo/PythonGrammar.h"
#include "cupel/testbench/zoo/PythonStrings.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace cupel::testbench::zoo {
namespace {

/// Expressions nested deeper than this are not looked into; nobody writes them, and the recursion
/// below must end.
constexpr int kMaxDepth = 400;
/// What tree-sitter calls a stretch that fits nothing.
constexpr TSSymbol kErrorSymbol = static_cast<TSSymbol>(-1);

/// A child of a tree-sitter node with the field it stands in.
struct Child {
  TSNode node;
  TSFieldId field;
  Form form;
  bool named;
};

/// Turns tree-sitter's tree into ours.
class Converter {
public:
  Converter(std::string_view source, NodeArena &arena, TSNode root)
      : source(source), arena(arena), cursor(ts_tree_cursor_new(root)) {}
  ~Converter() { ts_tree_cursor_delete(&cursor); }

  Node *block(TSNode node) {
    Node *made = make(NodeKind::Block, node);
    std::vector<Node *> statements;
    for (const Child &child : childrenOf(node))
      if (child.named)
        statement(child.node, child.form, statements);
    made->children = arena.keep(statements);
    return made;
  }

private:
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

  void statement(TSNode node, Form form, std::vector<Node *> &out) {
    if (++depth > kMaxDepth) {
      --depth;
      out.push_back(make(NodeKind::UnknownStatement, node, {}, "deep nesting"));
      return;
    }
    if (Node *made = statement(node, form))
      out.push_back(made);
    --depth;
  }

  Node *statement(TSNode node, Form form) {
    const Grammar &g = Grammar::get();
    switch (form) {
    case Form::ExpressionStatement: {
      std::vector<Child> children = childrenOf(node);
      if (children.size() == 1) {
        if (children[0].form == Form::Assignment || children[0].form == Form::AugmentedAssignment)
          return assignment(children[0].node, children[0].form);
        if (children[0].form == Form::String)
          return nullptr; // A docstring.
        return make(NodeKind::Expression, node, {expression(children[0].node, children[0].form)});
      }
      return make(NodeKind::Expression, node, {sequence(NodeKind::Tuple, node)});
    }
    case Form::ClassDefinition:
      return classDefinition(node, {});
    case Form::FunctionDefinition:
      return functionDefinition(node, {});
    case Form::DecoratedDefinition: {
      std::vector<Node *> decorators;
      for (const Child &child : childrenOf(node)) {
        if (child.form == Form::Decorator) {
          std::vector<Child> inner = childrenOf(child.node);
          for (const Child &part : inner)
            if (part.named)
              decorators.push_back(
                  make(NodeKind::Decorator, child.node, {expression(part.node, part.form)}));
        } else if (child.form == Form::ClassDefinition) {
          return classDefinition(child.node, decorators);
        } else if (child.form == Form::FunctionDefinition) {
          return functionDefinition(child.node, decorators);
        }
      }
      return unknownStatement(node);
    }
    case Form::IfStatement: {
      std::vector<Child> children = childrenOf(node);
      Node *whole = make(NodeKind::If, node);
      std::vector<Node *> parts = {optional(find(children, g.condition)),
                                   blockOf(find(children, g.consequence)), nullptr};
      // The chain of elif and else hangs on the last `if`: built from the end.
      Node *otherwise = nullptr;
      for (size_t i = children.size(); i-- > 0;) {
        const Child &child = children[i];
        if (child.form == Form::ElseClause) {
          otherwise = blockOf(bodyOf(child.node));
        } else if (child.form == Form::ElifClause) {
          std::vector<Child> inner = childrenOf(child.node);
          otherwise = make(
              NodeKind::If, child.node,
              {optional(find(inner, g.condition)), blockOf(find(inner, g.consequence)), otherwise});
        }
      }
      parts[2] = otherwise;
      whole->children = arena.keep(parts);
      return whole;
    }
    case Form::ForStatement: {
      std::vector<Child> children = childrenOf(node);
      const Child *alternative = find(children, g.alternative);
      Node *otherwise = alternative ? blockOf(bodyOf(alternative->node)) : nullptr;
      if (!children.empty() && textOf(children[0].node) == "async")
        return unknownStatement(node);
      return make(NodeKind::For, node,
                  {optional(find(children, g.left)), optional(find(children, g.right)),
                   blockOf(find(children, g.body)), otherwise});
    }
    case Form::TryStatement: {
      std::vector<Node *> parts;
      std::vector<Child> children = childrenOf(node);
      for (const Child &child : children) {
        if (child.field == g.body) {
          parts.insert(parts.begin(), block(child.node));
          continue;
        }
        std::string_view role = child.form == Form::ExceptClause    ? "except"
                                : child.form == Form::ElseClause    ? "else"
                                : child.form == Form::FinallyClause ? "finally"
                                                                    : "";
        if (role.empty())
          continue;
        for (const Child &inner : childrenOf(child.node))
          if (inner.form == Form::Block) {
            Node *made = block(inner.node);
            made->text = role;
            parts.push_back(made);
          }
      }
      return make(NodeKind::Try, node, parts);
    }
    case Form::WithStatement: {
      std::vector<Child> children = childrenOf(node);
      return make(NodeKind::With, node, {blockOf(find(children, g.body))});
    }
    case Form::ReturnStatement: {
      for (const Child &child : childrenOf(node))
        if (child.named)
          return make(NodeKind::Return, node, {expression(child.node, child.form)});
      return make(NodeKind::Return, node, {nullptr});
    }
    case Form::ImportStatement: {
      std::vector<Node *> imports;
      for (const Child &child : childrenOf(node)) {
        if (child.form == Form::DottedName) {
          imports.push_back(make(NodeKind::Import, child.node, {nullptr}, textOf(child.node)));
        } else if (child.form == Form::AliasedImport) {
          std::vector<Child> inner = childrenOf(child.node);
          const Child *name = find(inner, g.name), *alias = find(inner, g.alias);
          if (name && alias)
            imports.push_back(make(NodeKind::Import, child.node,
                                   {make(NodeKind::Name, alias->node, {}, textOf(alias->node))},
                                   textOf(name->node)));
        }
      }
      return imports.size() == 1 ? imports[0] : make(NodeKind::Block, node, imports);
    }
    case Form::ImportFromStatement: {
      std::vector<Child> children = childrenOf(node);
      const Child *module = find(children, g.moduleName);
      if (!module)
        return unknownStatement(node);
      std::string path;
      for (char c : textOf(module->node))
        if (c != ' ' && c != '\t' && c != '\\' && c != '\n' && c != '\r')
          path += c;
      std::vector<Node *> names;
      for (const Child &child : children) {
        if (child.field != g.name)
          continue;
        if (child.form == Form::AliasedImport) {
          std::vector<Child> inner = childrenOf(child.node);
          const Child *name = find(inner, g.name), *alias = find(inner, g.alias);
          if (name && alias)
            names.push_back(make(NodeKind::ImportedName, child.node,
                                 {make(NodeKind::Name, alias->node, {}, textOf(alias->node))},
                                 textOf(name->node)));
        } else {
          names.push_back(make(NodeKind::ImportedName, child.node, {nullptr}, textOf(child.node)));
        }
      }
      return make(NodeKind::ImportFrom, node, names, arena.keep(path));
    }
    case Form::RaiseStatement:
      return make(NodeKind::Raise, node);
    case Form::BreakStatement:
      return make(NodeKind::Break, node);
    case Form::ContinueStatement:
      return make(NodeKind::Continue, node);
    case Form::PassStatement:
    case Form::AssertStatement:
    case Form::FutureImportStatement:
      return nullptr;
    default:
      return unknownStatement(node);
    }
  }

  Node *unknownStatement(TSNode node) {
    return make(NodeKind::UnknownStatement, node, {}, ts_node_type(node));
  }

  const Child *bodyOf(TSNode clause) {
    scratch = childrenOf(clause);
    return find(scratch, Grammar::get().body);
  }

  Node *assignment(TSNode node, Form form) {
    const Grammar &g = Grammar::get();
    std::vector<Child> children = childrenOf(node);
    const Child *left = find(children, g.left), *right = find(children, g.right);
    Node *target = optional(left);
    Node *value = nullptr;
    if (right)
      value = right->form == Form::Assignment || right->form == Form::AugmentedAssignment
                  ? assignment(right->node, right->form)
                  : expression(right->node, right->form);
    if (form == Form::AugmentedAssignment) {
      const Child *op = find(children, g.operatorField);
      std::string_view text = op ? textOf(op->node) : "?=";
      text.remove_suffix(1);
      return make(NodeKind::AugmentedAssign, node, {target, value}, text);
    }
    bool annotated = find(children, g.type) != nullptr;
    return make(annotated ? NodeKind::AnnotatedAssign : NodeKind::Assign, node, {target, value});
  }

  Node *classDefinition(TSNode node, const std::vector<Node *> &decorators) {
    const Grammar &g = Grammar::get();
    std::vector<Child> children = childrenOf(node);
    std::vector<Node *> parts = {nullptr};
    if (const Child *bases = find(children, g.superclasses))
      arguments(bases->node, parts);
    parts.insert(parts.end(), decorators.begin(), decorators.end());
    parts[0] = blockOf(find(children, g.body));
    const Child *name = find(children, g.name);
    return make(NodeKind::ClassDef, node, parts, name ? textOf(name->node) : "");
  }

  Node *functionDefinition(TSNode node, const std::vector<Node *> &decorators) {
    const Grammar &g = Grammar::get();
    std::vector<Child> children = childrenOf(node);
    std::vector<Node *> parts = {parameters(find(children, g.parameters), node)};
    parts.insert(parts.end(), decorators.begin(), decorators.end());
    const Child *name = find(children, g.name);
    Node *made = make(NodeKind::FunctionDef, node, parts, name ? textOf(name->node) : "");
    made->flag = !children.empty() && textOf(children[0].node) == "async";
    return made;
  }

  Node *parameters(const Child *list, TSNode owner) {
    const Grammar &g = Grammar::get();
    std::vector<Node *> made;
    auto parameter = [&](TSNode node, std::string_view name, Node *value, ParameterForm form) {
      Node *added = make(NodeKind::Parameter, node, {value}, name);
      added->flag = static_cast<uint8_t>(form);
      made.push_back(added);
    };
    bool keywordOnly = false;
    auto splat = [&](TSNode node, Form form) {
      std::string_view name;
      for (const Child &child : childrenOf(node))
        if (child.named)
          name = textOf(child.node);
      bool isDouble = form == Form::DictionarySplat;
      parameter(node, name, nullptr, isDouble ? ParameterForm::DoubleStar : ParameterForm::Star);
      keywordOnly |= !isDouble;
    };
    if (list)
      for (const Child &child : childrenOf(list->node)) {
        if (!child.named)
          continue;
        ParameterForm form = keywordOnly ? ParameterForm::KeywordOnly : ParameterForm::Plain;
        if (child.form == Form::Identifier) {
          parameter(child.node, textOf(child.node), nullptr, form);
        } else if (child.form == Form::DefaultParameter ||
                   child.form == Form::TypedDefaultParameter) {
          std::vector<Child> inner = childrenOf(child.node);
          const Child *name = find(inner, g.name);
          parameter(child.node, name ? textOf(name->node) : "", optional(find(inner, g.value)),
                    form);
        } else if (child.form == Form::TypedParameter) {
          std::vector<Child> inner = childrenOf(child.node);
          if (inner.empty())
            continue;
          if (inner[0].form == Form::ListSplat || inner[0].form == Form::DictionarySplat)
            splat(inner[0].node, inner[0].form);
          else
            parameter(child.node, textOf(inner[0].node), nullptr, form);
        } else if (child.form == Form::ListSplat || child.form == Form::DictionarySplat) {
          splat(child.node, child.form);
        } else if (child.form == Form::KeywordSeparator) {
          keywordOnly = true;
        }
      }
    return make(NodeKind::Parameters, owner, made);
  }

  void arguments(TSNode list, std::vector<Node *> &out) {
    const Grammar &g = Grammar::get();
    if (g.form(ts_node_symbol(list)) == Form::GeneratorExpression) { // f(x for x in y)
      out.push_back(expression(list, Form::GeneratorExpression));
      return;
    }
    for (const Child &child : childrenOf(list)) {
      if (!child.named)
        continue;
      if (child.form == Form::KeywordArgument) {
        std::vector<Child> inner = childrenOf(child.node);
        const Child *name = find(inner, g.name);
        out.push_back(make(NodeKind::Keyword, child.node, {optional(find(inner, g.value))},
                           name ? textOf(name->node) : ""));
      } else {
        out.push_back(expression(child.node, child.form));
      }
    }
  }

  Node *sequence(NodeKind kind, TSNode node) {
    std::vector<Node *> parts;
    for (const Child &child : childrenOf(node))
      if (child.named)
        parts.push_back(expression(child.node, child.form));
    return make(kind, node, parts);
  }

  Node *comprehension(NodeKind kind, TSNode node) {
    const Grammar &g = Grammar::get();
    std::vector<Node *> parts;
    for (const Child &child : childrenOf(node)) {
      if (!child.named)
        continue;
      if (child.form == Form::ForInClause) {
        std::vector<Child> inner = childrenOf(child.node);
        if (!inner.empty() && textOf(inner[0].node) == "async")
          return unknownExpression(node);
        parts.push_back(make(NodeKind::ForClause, child.node,
                             {optional(find(inner, g.left)), optional(find(inner, g.right))}));
      } else if (child.form == Form::IfClause) {
        for (const Child &inner : childrenOf(child.node))
          if (inner.named)
            parts.push_back(
                make(NodeKind::IfClause, child.node, {expression(inner.node, inner.form)}));
      } else {
        parts.push_back(expression(child.node, child.form));
      }
    }
    return make(kind, node, parts);
  }

  Node *string(TSNode node) {
    std::vector<Child> children = childrenOf(node);
    uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    bool isRaw = false, isFormat = false, isBytes = false;
    for (const Child &child : children) {
      if (child.form == Form::StringStart) {
        begin = ts_node_end_byte(child.node);
        for (char c : textOf(child.node)) {
          isRaw |= c == 'r' || c == 'R';
          isFormat |= c == 'f' || c == 'F';
          isBytes |= c == 'b' || c == 'B';
        }
      } else if (child.form == Form::StringEnd) {
        end = ts_node_start_byte(child.node);
      }
    }
    if (isBytes)
      return make(NodeKind::Bytes, node);
    auto literal = [&](std::string_view raw) -> Node * {
      std::string_view special = isFormat ? "\\\r{}" : "\\\r";
      if (raw.find_first_of(special) == std::string_view::npos)
        return make(NodeKind::String, node, {}, raw);
      std::optional<std::string> decoded = unescape(raw, isFormat, isRaw);
      if (!decoded)
        return unknownExpression(node);
      return make(NodeKind::String, node, {}, arena.keep(*decoded));
    };
    if (!isFormat)
      return literal(end > begin ? source.substr(begin, end - begin) : std::string_view());
    std::vector<Node *> parts;
    uint32_t position = begin;
    for (const Child &child : children) {
      if (child.form != Form::Interpolation)
        continue;
      uint32_t from = ts_node_start_byte(child.node);
      if (from > position)
        parts.push_back(literal(source.substr(position, from - position)));
      position = ts_node_end_byte(child.node);
      Node *value = nullptr;
      std::string_view format;
      for (const Child &inner : childrenOf(child.node)) {
        if (inner.form == Form::TypeConversion || inner.form == Form::FormatSpecifier)
          format = textOf(inner.node);
        else if (inner.named)
          value = expression(inner.node, inner.form);
        else if (textOf(inner.node) == "=")
          format = "=";
      }
      parts.push_back(make(NodeKind::Interpolation, child.node, {value}, format));
    }
    if (end > position)
      parts.push_back(literal(source.substr(position, end - position)));
    return make(NodeKind::FString, node, parts);
  }

  Node *unknownExpression(TSNode node) {
    return make(NodeKind::UnknownExpression, node, {}, ts_node_type(node));
  }

  Node *expression(TSNode node, Form form) {
    if (++depth > kMaxDepth) {
      --depth;
      return make(NodeKind::UnknownExpression, node, {}, "deep nesting");
    }
    Node *made = shallowExpression(node, form);
    --depth;
    return made;
  }

  Node *shallowExpression(TSNode node, Form form) {
    const Grammar &g = Grammar::get();
    switch (form) {
    case Form::Identifier:
      return make(NodeKind::Name, node, {}, textOf(node));
    case Form::String:
      return string(node);
    case Form::ConcatenatedString: {
      std::vector<Node *> parts;
      for (const Child &child : childrenOf(node)) {
        if (child.form != Form::String)
          continue;
        Node *part = string(child.node);
        if (part->kind == NodeKind::FString)
          parts.insert(parts.end(), part->children.begin(), part->children.end());
        else if (part->kind == NodeKind::String)
          parts.push_back(part);
        else
          return part;
      }
      bool plain = true;
      std::string joined;
      for (Node *part : parts) {
        plain &= part->kind == NodeKind::String;
        joined += part->text;
      }
      if (plain)
        return make(NodeKind::String, node, {}, arena.keep(joined));
      return make(NodeKind::FString, node, parts);
    }
    case Form::Integer:
    case Form::Float:
      return make(NodeKind::Number, node, {}, textOf(node));
    case Form::True:
      return make(NodeKind::True, node);
    case Form::False:
      return make(NodeKind::False, node);
    case Form::None:
      return make(NodeKind::None, node);
    case Form::Ellipsis:
      return make(NodeKind::Ellipsis, node);
    case Form::Tuple:
      return sequence(NodeKind::Tuple, node);
    case Form::List:
      return sequence(NodeKind::List, node);
    case Form::Set:
      return sequence(NodeKind::Set, node);
    case Form::Dictionary:
      return sequence(NodeKind::Dict, node);
    case Form::Pair: {
      std::vector<Child> children = childrenOf(node);
      return make(NodeKind::Pair, node,
                  {optional(find(children, g.key)), optional(find(children, g.value))});
    }
    case Form::ListSplat:
      return sequence(NodeKind::Star, node);
    case Form::DictionarySplat:
      return sequence(NodeKind::DoubleStar, node);
    case Form::ParenthesizedExpression:
      for (const Child &child : childrenOf(node))
        if (child.named)
          return expression(child.node, child.form);
      return unknownExpression(node);
    case Form::Attribute: {
      std::vector<Child> children = childrenOf(node);
      const Child *attribute = find(children, g.attribute);
      return make(NodeKind::Attribute, node, {optional(find(children, g.object))},
                  attribute ? textOf(attribute->node) : "");
    }
    case Form::Subscript: {
      std::vector<Child> children = childrenOf(node);
      std::vector<Node *> indices;
      for (const Child &child : children)
        if (child.field == g.subscript)
          indices.push_back(expression(child.node, child.form));
      Node *index =
          indices.size() == 1 ? indices[0] : make(NodeKind::Tuple, node, std::move(indices));
      return make(NodeKind::Subscript, node, {optional(find(children, g.value)), index});
    }
    case Form::Slice: {
      std::vector<Node *> parts = {nullptr, nullptr, nullptr};
      size_t position = 0;
      for (const Child &child : childrenOf(node)) {
        if (!child.named)
          ++position;
        else if (position < 3)
          parts[position] = expression(child.node, child.form);
      }
      return make(NodeKind::Slice, node, parts);
    }
    case Form::Call: {
      std::vector<Child> children = childrenOf(node);
      std::vector<Node *> parts = {optional(find(children, g.function))};
      if (const Child *list = find(children, g.arguments))
        arguments(list->node, parts);
      return make(NodeKind::Call, node, parts);
    }
    case Form::UnaryOperator: {
      std::vector<Child> children = childrenOf(node);
      const Child *op = find(children, g.operatorField);
      return make(NodeKind::Unary, node, {optional(find(children, g.argument))},
                  op ? textOf(op->node) : "");
    }
    case Form::NotOperator: {
      std::vector<Child> children = childrenOf(node);
      return make(NodeKind::Unary, node, {optional(find(children, g.argument))}, "not");
    }
    case Form::BinaryOperator:
    case Form::BooleanOperator: {
      std::vector<Child> children = childrenOf(node);
      const Child *op = find(children, g.operatorField);
      return make(form == Form::BinaryOperator ? NodeKind::Binary : NodeKind::Boolean, node,
                  {optional(find(children, g.left)), optional(find(children, g.right))},
                  op ? textOf(op->node) : "");
    }
    case Form::ComparisonOperator: {
      std::vector<Node *> parts;
      std::vector<Child> children = childrenOf(node);
      for (size_t i = 0; i < children.size(); ++i) {
        const Child &child = children[i];
        if (child.named) {
          parts.push_back(expression(child.node, child.form));
          continue;
        }
        std::string op(textOf(child.node));
        // `not in` and `is not` may come as one token with any spacing, or as two.
        if (op == "not" || op == "is") {
          if (i + 1 < children.size() && !children[i + 1].named) {
            op += ' ';
            op += textOf(children[++i].node);
          }
        }
        if (op.starts_with("not") && op.size() > 3)
          op = "not in";
        else if (op.starts_with("is") && op.size() > 2)
          op = "is not";
        parts.push_back(make(NodeKind::Operator, child.node, {}, arena.keep(op)));
      }
      return make(NodeKind::Compare, node, parts);
    }
    case Form::ConditionalExpression:
      return sequence(NodeKind::Conditional, node);
    case Form::NamedExpression: {
      std::vector<Child> children = childrenOf(node);
      const Child *name = find(children, g.name);
      return make(NodeKind::NamedExpression, node, {optional(find(children, g.value))},
                  name ? textOf(name->node) : "");
    }
    case Form::Lambda: {
      std::vector<Child> children = childrenOf(node);
      return make(
          NodeKind::Lambda, node,
          {parameters(find(children, g.parameters), node), optional(find(children, g.body))});
    }
    case Form::ListComprehension:
      return comprehension(NodeKind::ListComprehension, node);
    case Form::SetComprehension:
      return comprehension(NodeKind::SetComprehension, node);
    case Form::GeneratorExpression:
      return comprehension(NodeKind::Generator, node);
    case Form::DictionaryComprehension:
      return comprehension(NodeKind::DictComprehension, node);
    default:
      return unknownExpression(node);
    }
  }

  std::string_view source;
  NodeArena &arena;
  TSTreeCursor cursor;
  std::vector<Child> scratch;
  int depth = 0;
};

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
