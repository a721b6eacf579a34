// Python's statements as nodes of ours: blocks, definitions, assignments, control flow.

#include "cupel/testbench/zoo/PythonConverter.h"

namespace cupel::testbench::zoo {

Node *Converter::block(TSNode node) {
  Node *made = make(NodeKind::Block, node);
  std::vector<Node *> statements;
  for (const Child &child : childrenOf(node))
    if (child.named)
      statement(child.node, child.form, statements);
  made->children = arena.keep(statements);
  return made;
}

void Converter::statement(TSNode node, Form form, std::vector<Node *> &out) {
  if (++depth > kMaxDepth) {
    --depth;
    out.push_back(make(NodeKind::UnknownStatement, node, {}, "deep nesting"));
    return;
  }
  if (Node *made = statement(node, form))
    out.push_back(made);
  --depth;
}

Node *Converter::statement(TSNode node, Form form) {
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

Node *Converter::unknownStatement(TSNode node) {
  return make(NodeKind::UnknownStatement, node, {}, ts_node_type(node));
}

const Child *Converter::bodyOf(TSNode clause) {
  scratch = childrenOf(clause);
  return find(scratch, Grammar::get().body);
}

Node *Converter::assignment(TSNode node, Form form) {
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

Node *Converter::classDefinition(TSNode node, const std::vector<Node *> &decorators) {
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

Node *Converter::functionDefinition(TSNode node, const std::vector<Node *> &decorators) {
  const Grammar &g = Grammar::get();
  std::vector<Child> children = childrenOf(node);
  std::vector<Node *> parts = {parameters(find(children, g.parameters), node)};
  parts.insert(parts.end(), decorators.begin(), decorators.end());
  const Child *name = find(children, g.name);
  Node *made = make(NodeKind::FunctionDef, node, parts, name ? textOf(name->node) : "");
  made->flag = !children.empty() && textOf(children[0].node) == "async";
  return made;
}

Node *Converter::parameters(const Child *list, TSNode owner) {
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
        parameter(child.node, name ? textOf(name->node) : "", optional(find(inner, g.value)), form);
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

} // namespace cupel::testbench::zoo
