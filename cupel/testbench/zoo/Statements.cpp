// The statements of the static evaluator: assignments, branches, loops.

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::zoo {
namespace {

std::string_view textOf(const Node *node, const Frame &frame) {
  return std::string_view(frame.module->syntax->source())
      .substr(node->begin, node->end - node->begin);
}

/// Everything in a text that looks like a name.
template <typename Function> void forEachWord(std::string_view text, const Function &visit) {
  auto isWord = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
  };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && isWord(text[i]))
      ++i;
    if (i > begin)
      visit(text.substr(begin, i - begin));
    else
      ++i;
  }
}

} // namespace

Evaluator::Evaluator(ModuleLibrary &library) : library(library) {}

Value Evaluator::unknown(const Node *at, ModuleState *in, std::string message) {
  return Value::unknown(
      heap.make<Why>({in ? std::string_view(in->path) : std::string_view(), at ? at->line : 0,
                      at ? at->column : 0, std::move(message)}));
}

Evaluator::Flow Evaluator::run(const Node *block, Frame &frame) {
  if (!block)
    return Flow::Next;
  for (const Node *statement : block->children) {
    Flow flow = runStatement(statement, frame);
    if (flow != Flow::Next) {
      // Module and class bodies go on: what is wrong there concerns the names it binds.
      if (flow == Flow::Lost && (!frame.locals || frame.isClassBody))
        continue;
      return flow;
    }
  }
  return Flow::Next;
}

Evaluator::Flow Evaluator::runStatement(const Node *node, Frame &frame) {
  bool inFunction = frame.locals && !frame.isClassBody;
  // In a function what is lost makes the result unknown; elsewhere only what was touched.
  auto lost = [&](const Why *why) {
    if (inFunction)
      frame.result = Value::unknown(why);
    else
      loseTrack(node, frame, why);
    return Flow::Lost;
  };
  switch (node->kind) {
  case NodeKind::Expression: {
    eval(node->child(0), frame);
    return Flow::Next;
  }
  case NodeKind::Assign:
  case NodeKind::AnnotatedAssign: {
    const Node *value = node->child(1);
    if (node->kind == NodeKind::AnnotatedAssign && frame.isClassBody && node->child(0) &&
        node->child(0)->kind == NodeKind::Name)
      frame.owner->fields.emplace_back(node->child(0)->text, value);
    if (!value)
      return Flow::Next;
    std::vector<const Node *> targets = {node->child(0)};
    while (value && (value->kind == NodeKind::Assign || value->kind == NodeKind::AnnotatedAssign)) {
      targets.push_back(value->child(0));
      value = value->child(1);
    }
    Value result = value ? eval(value, frame) : Value();
    for (const Node *target : targets)
      assign(target, result, frame);
    return Flow::Next;
  }
  case NodeKind::AugmentedAssign: {
    const Node *target = node->child(0);
    Value old = eval(target, frame), added = eval(node->child(1), frame);
    if (node->text == "|" && old.kind == ValueKind::Dict && added.kind == ValueKind::Dict) {
      if (added.dict->tainted)
        old.dict->tainted = added.dict->tainted;
      for (auto &[key, value] : added.dict->entries)
        dictSet(*old.dict, key, value);
      return Flow::Next;
    }
    if (node->text == "+" && old.kind == ValueKind::Sequence &&
        old.sequence->form == SequenceForm::List && added.kind == ValueKind::Sequence &&
        !isExhausted()) {
      steps += added.sequence->items.size();
      if (added.sequence->tainted)
        old.sequence->tainted = added.sequence->tainted;
      std::vector<Value> items = added.sequence->items; // It may be the same list.
      old.sequence->items.insert(old.sequence->items.end(), items.begin(), items.end());
      return Flow::Next;
    }
    if (added.isUnknown())
      taint(old, added.why);
    assign(target, evalBinary(node->text, old, added, node, frame), frame);
    return Flow::Next;
  }
  case NodeKind::Return:
    frame.result = node->child(0) ? eval(node->child(0), frame) : Value();
    return Flow::Return;
  case NodeKind::If: {
    Value condition = eval(node->child(0), frame);
    std::optional<bool> holds = truth(condition);
    if (!holds) {
      const Why *why =
          condition.isUnknown()
              ? condition.why
              : unknown(node, frame.module, "a condition cannot be told without running it").why;
      return lost(why);
    }
    const Node *taken = node->child(*holds ? 1 : 2);
    if (!taken)
      return Flow::Next;
    return taken->kind == NodeKind::If ? runStatement(taken, frame) : run(taken, frame);
  }
  case NodeKind::For:
    return runFor(node, frame);
  case NodeKind::Try:
    return runTry(node, frame);
  case NodeKind::With:
    if (inFunction)
      return lost(unknown(node, frame.module, "a `with` block cannot be followed").why);
    return run(node->child(0), frame);
  case NodeKind::Block:
    return run(node, frame);
  case NodeKind::ClassDef:
    bind(node->text, defineClass(node, frame), frame);
    return Flow::Next;
  case NodeKind::FunctionDef:
    bind(node->text, defineFunction(node, frame), frame);
    return Flow::Next;
  case NodeKind::Import:
    importModule(node, frame);
    return Flow::Next;
  case NodeKind::ImportFrom:
    importFrom(node, frame);
    return Flow::Next;
  case NodeKind::Raise:
    frame.result = unknown(node, frame.module, "an exception is raised here");
    return Flow::Raised;
  case NodeKind::Break:
    return Flow::Break;
  case NodeKind::Continue:
    return Flow::Continue;
  case NodeKind::Pass:
    return Flow::Next;
  default:
    return lost(
        unknown(node, frame.module, fmt::format("a '{}' cannot be followed", node->text)).why);
  }
}

Evaluator::Flow Evaluator::runFor(const Node *node, Frame &frame) {
  bool inFunction = frame.locals && !frame.isClassBody;
  const Why *why = nullptr;
  std::optional<std::vector<Value>> items =
      iterate(eval(node->child(1), frame), node, frame.module, &why);
  if (!items) {
    if (inFunction)
      frame.result = Value::unknown(why);
    else
      loseTrack(node, frame, why);
    return Flow::Lost;
  }
  for (Value item : *items) {
    if (++steps, isExhausted()) {
      why = unknown(node, frame.module, "evaluating this takes too many steps").why;
      if (inFunction)
        frame.result = Value::unknown(why);
      else
        loseTrack(node, frame, why);
      return Flow::Lost;
    }
    assign(node->child(0), item, frame);
    Flow flow = run(node->child(2), frame);
    if (flow == Flow::Break)
      return Flow::Next;
    if (flow != Flow::Next && flow != Flow::Continue)
      return flow;
  }
  return run(node->child(3), frame);
}

Evaluator::Flow Evaluator::runTry(const Node *node, Frame &frame) {
  // Taken as if the body raised nothing; what a handler would bind instead is not known then,
  // unless the body cannot reach outside at all, which is rare enough not to be looked for.
  Flow flow = run(node->child(0), frame);
  std::vector<std::string_view> alternatives;
  const Node *otherwise = nullptr, *finally = nullptr;
  for (size_t i = 1; i < node->children.size(); ++i) {
    const Node *part = node->child(i);
    if (part->text == "except")
      collectBound(part, alternatives);
    else if (part->text == "else")
      otherwise = part;
    else
      finally = part;
  }
  bool inFunction = frame.locals && !frame.isClassBody;
  if (flow == Flow::Raised && inFunction) {
    frame.result = unknown(node, frame.module, "which handler runs cannot be told");
    return Flow::Lost;
  }
  if (!alternatives.empty()) {
    Value lost = unknown(node, frame.module, "which branch of this `try` runs cannot be told");
    for (std::string_view name : alternatives)
      bind(name, lost, frame);
  }
  if (flow != Flow::Next)
    return flow == Flow::Raised ? Flow::Next : flow;
  flow = run(otherwise, frame);
  if (flow != Flow::Next)
    return flow;
  return run(finally, frame);
}

void Evaluator::bind(std::string_view name, Value value, Frame &frame) {
  if (frame.locals)
    frame.locals->set(name, value);
  else
    frame.module->globals.set(name, value);
}

void Evaluator::assign(const Node *target, Value value, Frame &frame) {
  if (!target)
    return;
  switch (target->kind) {
  case NodeKind::Name:
    bind(target->text, value, frame);
    return;
  case NodeKind::Tuple:
  case NodeKind::List: {
    const Why *why = nullptr;
    std::optional<std::vector<Value>> items = iterate(value, target, frame.module, &why);
    bool starred = std::any_of(target->children.begin(), target->children.end(),
                               [](const Node *n) { return n->kind == NodeKind::Star; });
    if (items && (starred || items->size() != target->children.size())) {
      why = unknown(target, frame.module, "this unpacking cannot be followed").why;
      items.reset();
    }
    for (size_t i = 0; i < target->children.size(); ++i) {
      const Node *part = target->child(i);
      assign(part->kind == NodeKind::Star ? part->child(0) : part,
             items ? (*items)[i] : Value::unknown(why), frame);
    }
    return;
  }
  case NodeKind::Attribute: {
    Value object = eval(target->child(0), frame);
    if (object.kind == ValueKind::Class) {
      object.type->scope.set(target->text, value);
    } else if (object.kind == ValueKind::Instance) {
      if (Value *field = object.instance->find(target->text))
        *field = value;
      else
        object.instance->fields.emplace_back(target->text, value);
    } else if (object.kind == ValueKind::Module) {
      object.module->globals.set(target->text, value);
    }
    return;
  }
  case NodeKind::Subscript: {
    Value object = eval(target->child(0), frame), key = eval(target->child(1), frame);
    if (object.kind == ValueKind::Dict) {
      if (!dictSet(*object.dict, key, value))
        object.dict->tainted =
            key.isUnknown() ? key.why : unknown(target, frame.module, "this key is not known").why;
    } else if (object.kind == ValueKind::Sequence) {
      auto &items = object.sequence->items;
      int64_t index = key.kind == ValueKind::Int ? key.integer : INT64_MIN;
      if (index < 0 && index >= -static_cast<int64_t>(items.size()))
        index += static_cast<int64_t>(items.size());
      if (index >= 0 && index < static_cast<int64_t>(items.size()))
        items[static_cast<size_t>(index)] = value;
      else
        object.sequence->tainted = unknown(target, frame.module, "this index is not known").why;
    }
    return;
  }
  default:
    return;
  }
}

void Evaluator::collectBound(const Node *node, std::vector<std::string_view> &names) {
  if (!node)
    return;
  auto target = [&](auto &self, const Node *t) -> void {
    if (!t)
      return;
    if (t->kind == NodeKind::Name)
      names.push_back(t->text);
    else if (t->kind == NodeKind::Tuple || t->kind == NodeKind::List || t->kind == NodeKind::Star)
      for (const Node *part : t->children)
        self(self, part);
  };
  switch (node->kind) {
  case NodeKind::Assign:
  case NodeKind::AnnotatedAssign:
  case NodeKind::AugmentedAssign:
    target(target, node->child(0));
    collectBound(node->child(1), names);
    return;
  case NodeKind::For:
    target(target, node->child(0));
    collectBound(node->child(2), names);
    collectBound(node->child(3), names);
    return;
  case NodeKind::ClassDef:
  case NodeKind::FunctionDef:
    names.push_back(node->text);
    return;
  case NodeKind::Import:
    names.push_back(node->child(0) ? node->child(0)->text
                                   : node->text.substr(0, node->text.find('.')));
    return;
  case NodeKind::ImportFrom:
    for (const Node *name : node->children)
      names.push_back(name->child(0) ? name->child(0)->text : name->text);
    return;
  case NodeKind::If:
  case NodeKind::Try:
  case NodeKind::With:
  case NodeKind::Block:
    for (const Node *child : node->children)
      collectBound(child, names);
    return;
  default:
    return;
  }
}

void Evaluator::loseTrack(const Node *statement, Frame &frame, const Why *why) {
  std::vector<std::string_view> bound;
  collectBound(statement, bound);
  for (std::string_view name : bound)
    bind(name, Value::unknown(why), frame);
  // Whatever else is mentioned in it may have been changed.
  forEachWord(textOf(statement, frame), [&](std::string_view word) {
    Value *value = frame.locals ? frame.locals->find(word) : nullptr;
    if (!value)
      value = frame.module->globals.find(word);
    if (!value)
      return;
    if (statement->kind == NodeKind::UnknownStatement)
      *value = Value::unknown(why);
    else
      taint(*value, why);
  });
}

void Evaluator::loseGlobals(const Node *body, Frame &frame, const Why *why) {
  if (!body)
    return;
  forEachWord(textOf(body, frame), [&](std::string_view word) {
    if (!frame.locals->find(word))
      if (Value *value = frame.module->globals.find(word))
        taint(*value, why);
  });
}

void Evaluator::taint(Value value, const Why *why) {
  switch (value.kind) {
  case ValueKind::Sequence:
    value.sequence->tainted = why;
    return;
  case ValueKind::Dict:
    value.dict->tainted = why;
    return;
  case ValueKind::Class:
    if (value.type->module && !value.type->isEnum)
      value.type->tainted = why;
    return;
  default:
    return;
  }
}

} // namespace cupel::testbench::zoo
