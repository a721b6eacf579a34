#include "cupel/results/report/Xlsx.h"

#include "cupel/results/report/Text.h"
#include "cupel/support/Files.h"
#include "cupel/support/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <xlsxwriter.h>

namespace cupel::results {
namespace {

constexpr size_t kLongestText = 32'767; ///< Of a cell, in characters.
constexpr size_t kLongestName = 28;
constexpr uint32_t kWidest = 60, kNarrowest = 6;

/// Characters, cut where the format ends.
std::string cellText(std::string_view text) {
  std::string safe = xmlSafe(text);
  size_t characters = 0, at = 0;
  for (; at < safe.size(); ++at)
    if ((uint8_t(safe[at]) & 0xC0) != 0x80 && characters++ == kLongestText - 1)
      break;
  if (at < safe.size())
    safe = safe.substr(0, at) + "…";
  return safe;
}

/// The longest line of a text, as wide as people see it.
uint32_t widthOf(std::string_view text) {
  uint32_t widest = 0, width = 0;
  for (char c : text)
    if (c == '\n')
      width = 0;
    else if ((uint8_t(c) & 0xC0) != 0x80)
      widest = std::max(widest, ++width);
  return widest;
}

std::string lowerCase(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return text;
}

} // namespace

struct XlsxBook::Impl {
  TemporaryFolder folder{"cupel-xlsx"};
  std::string path;
  lxw_workbook *book = nullptr;
  std::vector<std::unique_ptr<XlsxSheet>> sheets;
  std::set<std::string> names; ///< In lower case.
};

struct XlsxSheet::Impl {
  lxw_workbook *book;
  lxw_worksheet *sheet;
  std::map<std::pair<CellStyle, bool>, lxw_format *> formats;

  lxw_format *format(CellStyle style, bool isPercent) {
    if (style == CellStyle::Plain && !isPercent)
      return nullptr;
    lxw_format *&made = formats[{style, isPercent}];
    if (made)
      return made;
    made = workbook_add_format(book);
    if (isPercent)
      format_set_num_format(made, "0.0%");
    if (style == CellStyle::Heading || style == CellStyle::Bold)
      format_set_bold(made);
    auto fill = [&](lxw_color_t colour) { format_set_bg_color(made, colour); };
    switch (style) {
    case CellStyle::Plain:
    case CellStyle::Bold:
      break;
    case CellStyle::Heading:
      format_set_bottom(made, LXW_BORDER_THIN);
      fill(0xE7E6E6);
      break;
    case CellStyle::Green:
      fill(0xC6EFCE);
      break;
    case CellStyle::Yellow:
      fill(0xFFEB9C);
      break;
    case CellStyle::Orange:
      fill(0xF8CBAD);
      break;
    case CellStyle::Red:
      fill(0xFF9C9C);
      break;
    }
    return made;
  }
};

XlsxSheet::XlsxSheet(std::shared_ptr<Impl> impl, std::string title)
    : impl(std::move(impl)), title(std::move(title)) {}

void XlsxSheet::write(uint32_t column, const Cell &cell, CellStyle style) {
  if (cell.style != CellStyle::Plain)
    style = cell.style;
  lxw_format *format = impl->format(style, cell.isPercent);
  if (widths.size() <= column)
    widths.resize(column + 1);
  auto width = [&](uint32_t seen) { widths[column] = std::max(widths[column], seen); };
  const double *number = std::get_if<double>(&cell.value);
  if (number && std::isfinite(*number)) {
    worksheet_write_number(impl->sheet, next, lxw_col_t(column), *number, format);
    return width(uint32_t(figure(*number).size()));
  }
  if (!number && !std::get_if<std::string>(&cell.value)) {
    if (format)
      worksheet_write_blank(impl->sheet, next, lxw_col_t(column), format);
    return;
  }
  std::string text = cellText(number ? figure(*number) : std::get<std::string>(cell.value));
  worksheet_write_string(impl->sheet, next, lxw_col_t(column), text.c_str(), format);
  width(widthOf(text));
}

void XlsxSheet::heading(const std::vector<std::string> &titles) {
  for (uint32_t i = 0; i < titles.size(); ++i)
    write(i, titles[i], CellStyle::Heading);
  if (!titles.empty())
    worksheet_autofilter(impl->sheet, next, 0, next, lxw_col_t(titles.size() - 1));
  worksheet_freeze_panes(impl->sheet, next + 1, 0);
  ++next;
}

void XlsxSheet::row(const std::vector<Cell> &cells, CellStyle style, bool isHidden) {
  for (uint32_t i = 0; i < cells.size(); ++i)
    write(i, cells[i], style);
  if (isHidden) {
    lxw_row_col_options options = {.hidden = LXW_TRUE, .level = 1, .collapsed = LXW_FALSE};
    worksheet_set_row_opt(impl->sheet, next, LXW_DEF_ROW_HEIGHT, nullptr, &options);
  }
  ++next;
}

XlsxBook::XlsxBook() : impl(std::make_unique<Impl>()) {
  impl->path = (impl->folder.path / "book.xlsx").string();
  impl->book = workbook_new(impl->path.c_str());
}

XlsxBook::~XlsxBook() {
  if (impl->book)
    workbook_close(impl->book); // The only way to free it; its folder goes next.
}

XlsxSheet &XlsxBook::sheet(std::string_view name) {
  std::string base = oneLine(name);
  for (char &c : base)
    if (std::string_view("[]:*?/\\'").find(c) != std::string_view::npos)
      c = '_';
  // By characters: a name that ends within one is none.
  for (size_t at = 0, characters = 0; at < base.size(); ++at)
    if ((uint8_t(base[at]) & 0xC0) != 0x80 && characters++ == kLongestName)
      base.resize(at);
  if (base.empty())
    base = "_";
  std::string title = base;
  for (uint32_t i = 1; !impl->names.insert(lowerCase(title)).second; ++i)
    title = fmt::format("{}_{}", base, i);
  auto made = std::make_shared<XlsxSheet::Impl>();
  made->book = impl->book;
  made->sheet = workbook_add_worksheet(impl->book, title.c_str());
  impl->sheets.emplace_back(new XlsxSheet(std::move(made), title));
  return *impl->sheets.back();
}

Status XlsxBook::save(const std::string &path) {
  for (const std::unique_ptr<XlsxSheet> &sheet : impl->sheets)
    for (uint32_t i = 0; i < sheet->widths.size(); ++i)
      worksheet_set_column(sheet->impl->sheet, lxw_col_t(i), lxw_col_t(i),
                           double(std::clamp(sheet->widths[i] + 2, kNarrowest, kWidest)), nullptr);
  lxw_error error = workbook_close(std::exchange(impl->book, nullptr));
  if (error != LXW_NO_ERROR)
    return Error{fmt::format("{}: {}", path, lxw_strerror(error))};
  Result<FileContents> bytes = readInput(impl->path);
  return bytes ? writeOutput(path, bytes->bytes()) : Status(bytes.error());
}

} // namespace cupel::results
