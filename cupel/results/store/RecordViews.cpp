#include "cupel/results/store/RecordViews.h"

#include <fmt/format.h>
#include <span>

namespace cupel::results {
namespace {

enum class As { Text, Integer, Real, Flag };

struct Column {
  const char *name;
  As as;
};

constexpr Column kStages[] = {{"stage", As::Text}, {"seconds", As::Real}};
constexpr Column kComparisons[] = {
    {"output", As::Integer},       {"passed", As::Flag},
    {"pcc", As::Real},             {"max_absolute", As::Real},
    {"max_relative", As::Real},    {"relative_l2", As::Real},
    {"pcc_threshold", As::Real},   {"atol_threshold", As::Real},
    {"rtol_threshold", As::Real},  {"pcc_asserted", As::Flag},
    {"atol_asserted", As::Flag},   {"allclose_asserted", As::Flag},
    {"sentence", As::Text},        {"rule", As::Text},
    {"strict_passed", As::Flag},   {"strict_sentence", As::Text},
    {"precision", As::Text},       {"noise", As::Real},
    {"worst_in_noise", As::Real},  {"whole_in_noise", As::Real}};
constexpr Column kReasons[] = {{"name", As::Text},
                               {"description", As::Text},
                               {"component", As::Text},
                               {"summary", As::Text}};
constexpr Column kArtifacts[] = {{"name", As::Text}, {"sha256", As::Text}, {"bytes", As::Integer}};

/// A view, which is named as the list in the record is.
struct View {
  const char *name;
  std::span<const Column> columns;
};
constexpr View kViews[] = {{"stages", kStages},
                           {"comparisons", kComparisons},
                           {"reasons", kReasons},
                           {"artifacts", kArtifacts}};

std::string expression(const Column &column, bool isPostgres) {
  std::string value = fmt::format("(e.value->>'{}')", column.name);
  switch (column.as) {
  case As::Text:
    return fmt::format("coalesce({}, '')", value);
  case As::Integer:
    return isPostgres ? value + "::bigint" : value;
  case As::Real:
    return isPostgres ? value + "::double precision" : value;
  case As::Flag:
    return isPostgres ? value + "::boolean::int" : value;
  }
  return value;
}

} // namespace

std::string recordViews(Database::Kind kind) {
  bool isPostgres = kind == Database::Kind::Postgres;
  std::string sql;
  for (const View &view : kViews) {
    sql += fmt::format("CREATE VIEW {} AS SELECT o.outcome_id, {} AS position", view.name,
                       isPostgres ? "e.number - 1" : "e.key");
    for (const Column &column : view.columns)
      sql += fmt::format(", {} AS {}", expression(column, isPostgres), column.name);
    sql += isPostgres
               ? fmt::format(" FROM outcomes o CROSS JOIN LATERAL json_array_elements("
                             "o.record::json -> '{}') WITH ORDINALITY AS e (value, number);\n",
                             view.name)
               : fmt::format(" FROM outcomes o, json_each(o.record, '$.{}') e;\n", view.name);
  }
  return sql;
}

} // namespace cupel::results
