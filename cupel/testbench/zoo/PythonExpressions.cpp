// Python's expressions as nodes of ours: calls, displays, comprehensions, strings, operators.

#include "cupel/testbench/zoo/PythonConverter.h"
#include "cupel/testbench/zoo/PythonStrings.h"

#include <optional>

namespace cupel::testbench::zoo {

void Converter::arguments(TSNode list, std::vector<Node *> &out) {
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

Node *Converter::sequence(NodeKind kind, TSNode node) {
  std::vector<Node *> parts;
  for (const Child &child : childrenOf(node))
    if (child.named)
      parts.push_back(expression(child.node, child.form));
  return make(kind, node, parts);
}

Node *Converter::comprehension(NodeKind kind, TSNode node) {
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

Node *Converter::string(TSNode node) {
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

Node *Converter::unknownExpression(TSNode node) {
  return make(NodeKind::UnknownExpression, node, {}, ts_node_type(node));
}

Node *Converter::expression(TSNode node, Form form) {
  if (++depth > kMaxDepth) {
    --depth;
    return make(NodeKind::UnknownExpression, node, {}, "deep nesting");
  }
  Node *made = shallowExpression(node, form);
  --depth;
  return made;
}

Node *Converter::shallowExpression(TSNode node, Form form) {
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
    return make(NodeKind::Lambda, node,
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

} // namespace cupel::testbench::zoo
