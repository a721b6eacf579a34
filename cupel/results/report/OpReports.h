// Reports over tables of operations (OpTable.h): which operations stop which models, as Markdown,
// JSON and a workbook with tt-torch's sheets. Made from the files in a folder, of one run or of many,
// and from nothing else.
#pragma once

#include "cupel/results/OpTable.h"
#include "cupel/results/Record.h"

namespace cupel::results {

/// All tables below a folder, sorted by group, then model. An error names a file that is none.
Result<std::vector<OpTable>> readOpTables(const std::string &folder);

/// A row a model: what does not compile, what compiles and does not execute, what runs; then the
/// operations that stop models, those that stop most of them first.
std::string opMarkdown(const std::vector<OpTable> &tables);

/// The unique operations of all models with their counts, and for each model what stops it.
std::string opJson(const std::vector<OpTable> &tables);

/// `models_op_per_op.xlsx`: statuses a model, all operations, those that do not execute, a sheet a
/// model, and which models and calls have which operations.
Status writeOpWorkbook(const std::string &path, const std::vector<OpTable> &tables,
                       const RunInfo &run);
/// `stable_hlo_ops.xlsx`: a sheet an operation of StableHLO, with every form it stands in.
Status writeStablehloWorkbook(const std::string &path, const std::vector<OpTable> &tables);

/// Writes models.md, ops.json, models_op_per_op.xlsx and stable_hlo_ops.xlsx beside the tables of a
/// folder. All that can be written are; the error is the first.
Status writeOpReports(const std::string &folder, const RunInfo &run);

/// A sheet's name: the framework's prefix taken off, other characters `_`, at most 28 of them, and
/// numbered where `used` has it.
std::string sheetName(std::string text, std::vector<std::string> &used);

} // namespace cupel::results
