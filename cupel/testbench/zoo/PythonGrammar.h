// The names of tree-sitter's Python grammar as numbers, looked up once. Used by the conversion in
// PythonSyntax.cpp alone.
#pragma once

#include <cstdint>
#include <tree_sitter/api.h>
#include <vector>

namespace cupel::testbench::zoo {

/// What tree-sitter calls its nodes and fields, as numbers: looked up once.
enum class Form : uint8_t {
  Other,
  ExpressionStatement,
  Assignment,
  AugmentedAssignment,
  ClassDefinition,
  FunctionDefinition,
  DecoratedDefinition,
  Decorator,
  IfStatement,
  ElifClause,
  ElseClause,
  ForStatement,
  WhileStatement,
  TryStatement,
  ExceptClause,
  FinallyClause,
  WithStatement,
  ReturnStatement,
  ImportStatement,
  ImportFromStatement,
  FutureImportStatement,
  RaiseStatement,
  PassStatement,
  BreakStatement,
  ContinueStatement,
  AssertStatement,
  GlobalStatement,
  DottedName,
  AliasedImport,
  WildcardImport,
  RelativeImport,
  Call,
  KeywordArgument,
  ArgumentList,
  ListSplat,
  DictionarySplat,
  ParenthesizedExpression,
  Attribute,
  Subscript,
  Slice,
  Dictionary,
  Pair,
  Set,
  List,
  Tuple,
  DictionaryComprehension,
  ListComprehension,
  SetComprehension,
  GeneratorExpression,
  ForInClause,
  IfClause,
  String,
  StringContent,
  StringStart,
  StringEnd,
  Interpolation,
  TypeConversion,
  FormatSpecifier,
  ConcatenatedString,
  Integer,
  Float,
  True,
  False,
  None,
  Ellipsis,
  Identifier,
  BinaryOperator,
  UnaryOperator,
  NotOperator,
  BooleanOperator,
  ComparisonOperator,
  ConditionalExpression,
  NamedExpression,
  Lambda,
  DefaultParameter,
  TypedParameter,
  TypedDefaultParameter,
  KeywordSeparator,
  PositionalSeparator,
  Comment,
  LineContinuation,
  PrintStatement,
  ExecStatement,
  Block,
};

class Grammar {
public:
  static const Grammar &get();

  const TSLanguage *language;
  TSFieldId name, value, left, right, body, condition, consequence, alternative, superclasses,
      parameters, definition, object, attribute, subscript, function, arguments, key, argument,
      operatorField, operators, moduleName, alias, expression, type;

  Form form(TSSymbol symbol) const { return symbol < forms.size() ? forms[symbol] : Form::Other; }

private:
  Grammar();

  std::vector<Form> forms;
};

} // namespace cupel::testbench::zoo
