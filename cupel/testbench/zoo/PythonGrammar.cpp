#include "cupel/testbench/zoo/PythonGrammar.h"

#include <string_view>
#include <unordered_map>
#include <utility>

extern "C" const TSLanguage *tree_sitter_python(void);

namespace cupel::testbench::zoo {

const Grammar &Grammar::get() {
  static const Grammar kGrammar;
  return kGrammar;
}

Grammar::Grammar() : language(tree_sitter_python()) {
  static constexpr std::pair<std::string_view, Form> kNames[] = {
      {"expression_statement", Form::ExpressionStatement},
      {"assignment", Form::Assignment},
      {"augmented_assignment", Form::AugmentedAssignment},
      {"class_definition", Form::ClassDefinition},
      {"function_definition", Form::FunctionDefinition},
      {"decorated_definition", Form::DecoratedDefinition},
      {"decorator", Form::Decorator},
      {"if_statement", Form::IfStatement},
      {"elif_clause", Form::ElifClause},
      {"else_clause", Form::ElseClause},
      {"for_statement", Form::ForStatement},
      {"while_statement", Form::WhileStatement},
      {"try_statement", Form::TryStatement},
      {"except_clause", Form::ExceptClause},
      {"except_group_clause", Form::ExceptClause},
      {"finally_clause", Form::FinallyClause},
      {"with_statement", Form::WithStatement},
      {"return_statement", Form::ReturnStatement},
      {"import_statement", Form::ImportStatement},
      {"import_from_statement", Form::ImportFromStatement},
      {"future_import_statement", Form::FutureImportStatement},
      {"raise_statement", Form::RaiseStatement},
      {"pass_statement", Form::PassStatement},
      {"break_statement", Form::BreakStatement},
      {"continue_statement", Form::ContinueStatement},
      {"assert_statement", Form::AssertStatement},
      {"global_statement", Form::GlobalStatement},
      {"nonlocal_statement", Form::GlobalStatement},
      {"dotted_name", Form::DottedName},
      {"aliased_import", Form::AliasedImport},
      {"wildcard_import", Form::WildcardImport},
      {"relative_import", Form::RelativeImport},
      {"call", Form::Call},
      {"keyword_argument", Form::KeywordArgument},
      {"argument_list", Form::ArgumentList},
      {"list_splat", Form::ListSplat},
      {"list_splat_pattern", Form::ListSplat},
      {"dictionary_splat", Form::DictionarySplat},
      {"dictionary_splat_pattern", Form::DictionarySplat},
      {"parenthesized_expression", Form::ParenthesizedExpression},
      {"attribute", Form::Attribute},
      {"subscript", Form::Subscript},
      {"slice", Form::Slice},
      {"dictionary", Form::Dictionary},
      {"pair", Form::Pair},
      {"set", Form::Set},
      {"list", Form::List},
      {"list_pattern", Form::List},
      {"tuple", Form::Tuple},
      {"tuple_pattern", Form::Tuple},
      {"pattern_list", Form::Tuple},
      {"expression_list", Form::Tuple},
      {"dictionary_comprehension", Form::DictionaryComprehension},
      {"list_comprehension", Form::ListComprehension},
      {"set_comprehension", Form::SetComprehension},
      {"generator_expression", Form::GeneratorExpression},
      {"for_in_clause", Form::ForInClause},
      {"if_clause", Form::IfClause},
      {"string", Form::String},
      {"string_content", Form::StringContent},
      {"string_start", Form::StringStart},
      {"string_end", Form::StringEnd},
      {"interpolation", Form::Interpolation},
      {"type_conversion", Form::TypeConversion},
      {"format_specifier", Form::FormatSpecifier},
      {"concatenated_string", Form::ConcatenatedString},
      {"integer", Form::Integer},
      {"float", Form::Float},
      {"true", Form::True},
      {"false", Form::False},
      {"none", Form::None},
      {"ellipsis", Form::Ellipsis},
      {"identifier", Form::Identifier},
      {"binary_operator", Form::BinaryOperator},
      {"unary_operator", Form::UnaryOperator},
      {"not_operator", Form::NotOperator},
      {"boolean_operator", Form::BooleanOperator},
      {"comparison_operator", Form::ComparisonOperator},
      {"conditional_expression", Form::ConditionalExpression},
      {"named_expression", Form::NamedExpression},
      {"lambda", Form::Lambda},
      {"default_parameter", Form::DefaultParameter},
      {"typed_parameter", Form::TypedParameter},
      {"typed_default_parameter", Form::TypedDefaultParameter},
      {"keyword_separator", Form::KeywordSeparator},
      {"positional_separator", Form::PositionalSeparator},
      {"comment", Form::Comment},
      {"line_continuation", Form::LineContinuation},
      {"print_statement", Form::PrintStatement},
      {"exec_statement", Form::ExecStatement},
      {"block", Form::Block},
  };
  std::unordered_map<std::string_view, Form> byName(std::begin(kNames), std::end(kNames));
  uint32_t count = ts_language_symbol_count(language);
  forms.resize(count, Form::Other);
  for (uint32_t symbol = 0; symbol < count; ++symbol) {
    // Keywords and node kinds may share a name (`lambda`); only the named ones are meant.
    if (ts_language_symbol_type(language, symbol) != TSSymbolTypeRegular)
      continue;
    auto found = byName.find(ts_language_symbol_name(language, symbol));
    if (found != byName.end())
      forms[symbol] = found->second;
  }
  auto field = [&](std::string_view word) {
    return ts_language_field_id_for_name(language, word.data(), static_cast<uint32_t>(word.size()));
  };
  name = field("name");
  value = field("value");
  left = field("left");
  right = field("right");
  body = field("body");
  condition = field("condition");
  consequence = field("consequence");
  alternative = field("alternative");
  superclasses = field("superclasses");
  parameters = field("parameters");
  definition = field("definition");
  object = field("object");
  attribute = field("attribute");
  subscript = field("subscript");
  function = field("function");
  arguments = field("arguments");
  key = field("key");
  argument = field("argument");
  operatorField = field("operator");
  operators = field("operators");
  moduleName = field("module_name");
  alias = field("alias");
  expression = field("expression");
  type = field("type");
}

} // namespace cupel::testbench::zoo
