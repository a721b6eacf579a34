// The workbooks over tables of operations, with the sheets, columns, colours and totals that
// tt-torch's have.

#include "cupel/results/report/OpReports.h"
#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <xlsxwriter.h>

namespace cupel::results {

namespace {

/// What a cell holds at most.
constexpr size_t kCellCharacters = 32'767;
constexpr uint32_t kGreen = 0xC6EFCE, kYellow = 0xFFEB9C, kOrange = 0xFFC000, kRed = 0xFFC7CE;

std::string cellText(std::string_view text) {
  std::string safe = xmlSafe(text);
  if (safe.size() <= kCellCharacters)
    return safe;
  safe.resize(kCellCharacters - 4);
  // Not within a character.
  while (!safe.empty() && (static_cast<unsigned char>(safe.back()) & 0xC0) == 0x80)
    safe.pop_back();
  if (!safe.empty() && static_cast<unsigned char>(safe.back()) >= 0xC0)
    safe.pop_back();
  return safe + "...";
}

class Book {
public:
  explicit Book(const std::string &path) : path(path), book(workbook_new(path.c_str())) {
    bold = workbook_add_format(book);
    format_set_bold(bold);
  }
  Book(const Book &) = delete;
  ~Book() {
    if (book)
      workbook_close(book);
  }

  Status finish() {
    lxw_error error = workbook_close(std::exchange(book, nullptr));
    if (error == LXW_NO_ERROR)
      return {};
    return Error{path + ": " + lxw_strerror(error)};
  }

  lxw_format *filled(uint32_t colour) {
    lxw_format *&made = fills[colour];
    if (!made) {
      made = workbook_add_format(book);
      format_set_bg_color(made, colour);
    }
    return made;
  }

  std::string path;
  lxw_workbook *book;
  lxw_format *bold = nullptr;
  std::map<uint32_t, lxw_format *> fills;
  std::vector<std::string> names; ///< Of sheets.
};

class Sheet {
public:
  Sheet(Book &book, const std::string &name)
      : book(book), sheet(workbook_add_worksheet(book.book, name.c_str())) {}

  void header(const std::vector<std::string> &titles) {
    for (const std::string &title : titles)
      text(title, book.bold);
    end();
    worksheet_freeze_panes(sheet, row, 0);
  }
  void text(std::string_view value, lxw_format *format = nullptr) {
    worksheet_write_string(sheet, row, column++, cellText(value).c_str(), format);
  }
  void number(double value, lxw_format *format = nullptr) {
    if (std::isfinite(value))
      worksheet_write_number(sheet, row, column++, value, format);
    else
      text(std::isnan(value) ? "NaN" : "Inf", format);
  }
  void number(const std::optional<double> &value, lxw_format *format = nullptr) {
    value ? number(*value, format) : text("", format);
  }
  void blank() { ++column; }
  void end() {
    ++row;
    column = 0;
  }
  /// The row that was written last.
  void hide() {
    lxw_row_col_options options = {.hidden = 1, .level = 1, .collapsed = 0};
    worksheet_set_row_opt(sheet, row - 1, LXW_DEF_ROW_HEIGHT, nullptr, &options);
  }

  Book &book;
  lxw_worksheet *sheet;
  lxw_row_t row = 0;
  lxw_col_t column = 0;
};

std::string shapes(const std::vector<OpTensor> &tensors) {
  std::vector<std::string> texts;
  for (const OpTensor &tensor : tensors)
    texts.push_back(tensor.shape.empty() ? tensor.type : tensor.shapeText() + "x" + tensor.type);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string statusText(OpStatus status) { return fmt::format("{}: {}", int(status), name(status)); }

/// Of an operation that came no further than compiling, or of one that is wrong.
std::string compileError(const OpRecord &op) {
  if (op.passed == false)
    return "wrong: " + op.sentence;
  return op.error.empty() ? op.remark : op.failure + ": " + op.error;
}

uint32_t colourOf(double share) {
  return share >= 1 ? kGreen : share >= 0.8 ? kYellow : share >= 0.5 ? kOrange : kRed;
}

double shareOf(uint64_t part, uint64_t all) { return all ? double(part) / double(all) : 1; }

/// `a/b`, with what is missing.
std::string ratio(uint64_t part, uint64_t all) {
  return part == all ? fmt::format("{}/{}", part, all)
                     : fmt::format("{}/{} (-{})", part, all, all - part);
}

//===----------------------------------------------------------------------===//
// Sheets
//===----------------------------------------------------------------------===//

struct Counts {
  std::array<uint64_t, kOpStatusCount> statuses = {};
  uint64_t unknown = 0, timeouts = 0;

  explicit Counts(const std::vector<OpRecord> &ops = {}) {
    for (const OpRecord &op : ops) {
      ++statuses[size_t(op.status)];
      timeouts += op.failure == "timed out";
      bool isDone = op.status == OpStatus::Executed || op.status == OpStatus::NotStarted;
      unknown += !isDone && op.error.empty() && op.remark.empty();
    }
  }
  void add(const Counts &other) {
    for (size_t i = 0; i < statuses.size(); ++i)
      statuses[i] += other.statuses[i];
    unknown += other.unknown;
    timeouts += other.timeouts;
  }
  uint64_t all() const {
    uint64_t sum = 0;
    for (uint64_t count : statuses)
      sum += count;
    return sum;
  }
  uint64_t executed() const { return statuses[7]; }
  uint64_t compiled() const { return statuses[6] + statuses[7]; }
};

void writeCounts(Sheet &sheet, const Counts &counts) {
  for (uint64_t count : counts.statuses)
    sheet.number(double(count));
  uint64_t all = counts.all();
  sheet.number(double(all));
  for (uint64_t part : {counts.compiled(), counts.executed()}) {
    lxw_format *colour = sheet.book.filled(colourOf(shareOf(part, all)));
    sheet.text(fmt::format("{:.1f}%", 100 * shareOf(part, all)), colour);
    sheet.text(ratio(part, all), colour);
  }
  sheet.number(double(counts.unknown));
  sheet.number(double(counts.timeouts));
}

void writeStatuses(Book &book, const std::vector<OpTable> &tables, const RunInfo &run) {
  Sheet sheet(book, "Per Model Compile Statuses");
  book.names.emplace_back("Per Model Compile Statuses");
  std::vector<std::string> titles = {"Model", "Group", "Backend"};
  for (size_t i = 0; i < kOpStatusCount; ++i)
    titles.push_back(statusText(OpStatus(i)));
  for (const char *title : {"Total Ops Per Model", "Compiled to TTNN %", "Compiled to TTNN",
                            "Executed on Device %", "Executed on Device", "Unknown Errors",
                            "Timeouts"})
    titles.emplace_back(title);
  sheet.header(titles);
  Counts totals;
  uint64_t compiling = 0, executing = 0;
  for (const OpTable &table : tables) {
    Counts counts(table.ops);
    sheet.text(table.model);
    sheet.text(table.group);
    sheet.text(table.backend);
    writeCounts(sheet, counts);
    sheet.end();
    totals.add(counts);
    compiling += counts.compiled() == counts.all();
    executing += counts.executed() == counts.all();
  }
  sheet.text("Total", book.bold);
  sheet.blank();
  sheet.blank();
  writeCounts(sheet, totals);
  sheet.end();
  sheet.end();
  auto line = [&](const char *title, double value) {
    sheet.text(title, book.bold);
    sheet.number(value);
    sheet.end();
  };
  line("Models Total", double(tables.size()));
  line("Models Fully Compiling", double(compiling));
  line("Models Fully Executing", double(executing));
  sheet.end();
  for (auto [text, colour] : {std::pair("100 %", kGreen), {"80 % and more", kYellow},
                              {"50 % and more", kOrange}, {"less", kRed}}) {
    sheet.text(text, book.filled(colour));
    sheet.end();
  }
  sheet.end();
  auto fact = [&](const char *title, const std::string &value) {
    sheet.text(title, book.bold);
    sheet.text(value);
    sheet.end();
  };
  auto environment = [&](const char *key) {
    auto found = run.environment.find(key);
    return found == run.environment.end() ? std::string() : found->second;
  };
  fact("Date", peopleTime(run.startedAt));
  fact("Branch", environment("git branch"));
  fact("Commit", environment("git"));
  fact("Run", run.id);
  fact("Device", run.device);
  worksheet_set_column(sheet.sheet, 0, 0, 50, nullptr);
}

/// From `Status` on what the sheets of a model and of all have in common.
void writeResult(Sheet &sheet, const OpRecord &op, lxw_format *colour) {
  sheet.number(op.pcc, colour);
  sheet.number(op.atol, colour);
  std::vector<std::string> names;
  for (const StablehloOp &part : op.stablehloOps)
    if (names.size() < 100 && std::ranges::find(names, part.name) == names.end())
      names.push_back(part.name);
  sheet.text(fmt::format("{}", fmt::join(names, ", ")), colour);
  for (const std::string *graph :
       {&op.torchGraph, &op.stablehloGraph, &op.tensorGraph, &op.deviceGraph})
    sheet.text(*graph);
  sheet.text(compileError(op), colour);
  sheet.text(op.dump);
  sheet.text(""); // Compiled JSON: PJRT gives none.
  sheet.number(op.compileSeconds);
  sheet.number(op.executeSeconds);
  sheet.end();
}

/// The operations of StableHLO that a call of a framework stands for, folded away.
void writeParts(Sheet &sheet, const OpRecord &op, size_t opsColumn) {
  if (op.frameworkName.empty())
    return;
  for (const StablehloOp &part : op.stablehloOps) {
    sheet.text("");
    sheet.text(fmt::format("{}", fmt::join(part.inputShapes, ", ")));
    sheet.text(fmt::format("{}", fmt::join(part.outputShapes, ", ")));
    while (sheet.column < opsColumn)
      sheet.blank();
    sheet.text(part.text);
    sheet.end();
    sheet.hide();
  }
}

const std::vector<std::string> kResultTitles = {
    "PCC",       "ATOL",          "Ops",        "Torch IR",      "Raw SHLO",       "Raw TTIR",
    "Raw TTNNIR", "Compile Error", "Trace dump", "Compiled Json", "Compile Seconds", "Execute Seconds"};

void writeModel(Book &book, const OpTable &table) {
  Sheet sheet(book, sheetName(table.model, book.names));
  std::vector<std::string> titles = {
      table.backend == "torch" ? "Torch Name" : "StableHLO Name", "Input Shapes", "Output Shapes",
      "Backend", "Global Op Idx", "NumOps", "Status"};
  titles.insert(titles.end(), kResultTitles.begin(), kResultTitles.end());
  sheet.header(titles);
  // Rows of one name stand together, and only the first of them shows it.
  std::vector<const OpRecord *> ops;
  for (const OpRecord &op : table.ops)
    ops.push_back(&op);
  auto shown = [](const OpRecord *op) {
    return op->frameworkName.empty() ? op->name : op->frameworkName;
  };
  std::ranges::sort(ops, {}, [&](const OpRecord *op) { return std::pair(shown(op), op->index); });
  std::string before;
  for (const OpRecord *op : ops) {
    lxw_format *colour = op->status == OpStatus::Executed ? nullptr : book.filled(kYellow);
    std::string called = shown(op);
    sheet.text(called == before ? "" : called, colour);
    before = called;
    sheet.text(shapes(op->inputs), colour);
    sheet.text(shapes(op->outputs), colour);
    sheet.text(table.backend, colour);
    sheet.number(double(op->index), colour);
    sheet.number(double(op->count), colour);
    sheet.text(statusText(op->status), colour);
    writeResult(sheet, *op, colour);
    writeParts(sheet, *op, 9);
  }
}

void writeAll(Book &book, const char *name, const std::vector<MergedOp> &merged,
              const std::map<const MergedOp *, std::string> &backends, bool onlyFailing) {
  Sheet sheet(book, name);
  book.names.emplace_back(name);
  std::vector<std::string> titles = {"Torch/SHLO Name", "Input Shapes", "Output Shapes",
                                     "Backend",         "NumOps",       "Status", "Models"};
  titles.insert(titles.end(), kResultTitles.begin(), kResultTitles.end());
  titles[titles.size() - 3] = "Compiled JSON";
  sheet.header(titles);
  std::array<uint64_t, kOpStatusCount> totals = {};
  uint64_t all = 0;
  for (const MergedOp &one : merged) {
    if (onlyFailing && one.op.status == OpStatus::Executed)
      continue;
    ++totals[size_t(one.op.status)];
    ++all;
    lxw_format *colour = one.op.status == OpStatus::Executed ? nullptr : book.filled(kYellow);
    sheet.text(one.op.frameworkName.empty() ? one.op.name : one.op.frameworkName, colour);
    sheet.text(shapes(one.op.inputs), colour);
    sheet.text(shapes(one.op.outputs), colour);
    sheet.text(backends.at(&one), colour);
    sheet.number(double(one.count), colour);
    sheet.text(statusText(one.op.status), colour);
    std::vector<std::string> models;
    for (const auto &[model, count] : one.models)
      models.push_back(model);
    sheet.text(fmt::format("{}:{}", models.size(), fmt::join(models, ", ")), colour);
    writeResult(sheet, one.op, colour);
  }
  sheet.end();
  for (size_t i = 0; i < totals.size(); ++i) {
    sheet.text(statusText(OpStatus(i)), book.bold);
    sheet.number(double(totals[i]));
    sheet.text(all ? fmt::format("{:.1f}%", 100.0 * double(totals[i]) / double(all)) : "-");
    sheet.end();
  }
}

using Matrix = std::map<std::string, std::set<std::string>>;

/// Rows and columns with 1 where they meet.
void writeMatrix(Book &book, const char *name, const char *corner, const Matrix &matrix) {
  Sheet sheet(book, name);
  book.names.emplace_back(name);
  std::set<std::string> columns;
  for (const auto &[row, there] : matrix)
    columns.insert(there.begin(), there.end());
  std::vector<std::string> titles = {corner};
  titles.insert(titles.end(), columns.begin(), columns.end());
  sheet.header(titles);
  for (const auto &[row, there] : matrix) {
    sheet.text(row);
    for (const std::string &column : columns)
      sheet.number(there.contains(column) ? 1 : 0);
    sheet.end();
  }
}

} // namespace

std::string sheetName(std::string text, std::vector<std::string> &used) {
  constexpr size_t kLongest = 28;
  for (std::string_view prefix : {"pytorch_", "pytorch/", "onnx_", "jax_", "tt-torch_"})
    if (text.starts_with(prefix)) {
      text.erase(0, prefix.size());
      break;
    }
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  text.resize(std::min(text.size(), kLongest));
  if (text.empty())
    text = "_";
  // Names that differ in case alone are the same to a workbook.
  auto isUsed = [&](const std::string &name) {
    return std::ranges::any_of(used, [&](const std::string &other) {
      return std::ranges::equal(name, other, {}, ::tolower, ::tolower);
    });
  };
  std::string name = text;
  for (int i = 1; isUsed(name); ++i) {
    std::string ending = "_" + std::to_string(i);
    name = text.substr(0, 31 - ending.size()) + ending;
  }
  used.push_back(name);
  return name;
}

Status writeOpWorkbook(const std::string &path, const std::vector<OpTable> &tables,
                       const RunInfo &run) {
  Book book(path);
  writeStatuses(book, tables, run);
  std::vector<MergedOp> merged;
  std::map<const MergedOp *, std::string> backends;
  std::vector<std::pair<size_t, std::string>> ends; // Of operations of one backend.
  for (const char *backend : {"stablehlo", "torch"}) {
    std::vector<OpTable> some;
    for (const OpTable &table : tables)
      if (table.backend == backend)
        some.push_back(table);
    for (MergedOp &one : mergeOps(some))
      merged.push_back(std::move(one));
    ends.emplace_back(merged.size(), backend);
  }
  size_t begin = 0;
  for (const auto &[end, backend] : ends)
    for (; begin < end; ++begin)
      backends[&merged[begin]] = backend;
  writeAll(book, "All Ops", merged, backends, false);
  writeAll(book, "All Ops (Not Executing)", merged, backends, true);
  // Further sheets keep their names, whatever models are called.
  for (const char *name : {"AtenModelsPerOp", "StableHLOModelsPerOp", "StableHLOOpssPerTorchOp"})
    book.names.emplace_back(name);
  for (const OpTable &table : tables)
    writeModel(book, table);
  Matrix aten, stablehlo, parts;
  for (const OpTable &table : tables)
    for (const OpRecord &op : table.ops) {
      if (!op.frameworkName.empty())
        aten[op.frameworkName].insert(table.model);
      for (const StablehloOp &part : op.stablehloOps) {
        stablehlo[part.name].insert(table.model);
        if (!op.frameworkName.empty())
          parts[op.frameworkName].insert(part.name);
      }
    }
  writeMatrix(book, "AtenModelsPerOp", "Op", aten);
  writeMatrix(book, "StableHLOModelsPerOp", "Op", stablehlo);
  writeMatrix(book, "StableHLOOpssPerTorchOp", "Torch Op", parts);
  return book.finish();
}

Status writeStablehloWorkbook(const std::string &path, const std::vector<OpTable> &tables) {
  struct Form {
    const StablehloOp *part;
    const OpRecord *op;
  };
  std::map<std::string, std::vector<Form>> forms;
  std::set<std::string> seen;
  for (const OpTable &table : tables)
    for (const OpRecord &op : table.ops)
      for (const StablehloOp &part : op.stablehloOps)
        if (seen.insert(fmt::format("{} {} {}", part.text, op.frameworkName, int(op.status))).second)
          forms[part.name].push_back({&part, &op});
  if (forms.empty())
    return {};
  Book book(path);
  for (const auto &[name, list] : forms) {
    Sheet sheet(book, sheetName(name, book.names));
    sheet.header({"Output", "Op Name", "Args", "Attrs", "Input Shapes", "Output Shapes", "HLO",
                  "TorchName", "TorchIn", "TorchOut", "Status"});
    for (const Form &form : list) {
      lxw_format *colour =
          form.op->status == OpStatus::Executed ? nullptr : book.filled(kYellow);
      sheet.text(form.part->output, colour);
      sheet.text(form.part->name, colour);
      sheet.text(fmt::format("{}", fmt::join(form.part->arguments, ", ")), colour);
      sheet.text(form.part->attributes, colour);
      sheet.text(fmt::format("{}", fmt::join(form.part->inputShapes, ", ")), colour);
      sheet.text(fmt::format("{}", fmt::join(form.part->outputShapes, ", ")), colour);
      sheet.text(form.part->text, colour);
      sheet.text(form.op->frameworkName, colour);
      bool isCall = !form.op->frameworkName.empty();
      sheet.text(isCall ? shapes(form.op->inputs) : "", colour);
      sheet.text(isCall ? shapes(form.op->outputs) : "", colour);
      sheet.number(double(form.op->status), colour);
      sheet.end();
    }
  }
  return book.finish();
}

} // namespace cupel::results
