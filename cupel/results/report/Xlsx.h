// Writes workbooks that spreadsheets open (XLSX), for reports that people sort, filter and send
// around. A book is sheets, a sheet is rows of cells; fits names and long texts to what the format
// takes. It knows nothing of tests, and never leaves half a file behind.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::results {

/// How a cell looks. Colours are those of the traffic light, with orange between yellow and red.
enum class CellStyle : uint8_t { Plain, Heading, Bold, Green, Yellow, Orange, Red };

/// A text, a number, or nothing. Numbers that a spreadsheet has none for (NaN, infinities) become
/// texts.
struct Cell {
  Cell() = default;
  Cell(std::string text) : value(std::move(text)) {}
  Cell(std::string_view text) : value(std::string(text)) {}
  Cell(const char *text) : value(std::string(text)) {}
  Cell(double number) : value(number) {}
  Cell(uint64_t number) : value(double(number)) {}
  Cell(int number) : value(double(number)) {}

  /// The same with a style, or as a percentage (0.5 is shown as 50.0 %).
  Cell in(CellStyle wanted) && {
    style = wanted;
    return std::move(*this);
  }
  Cell percent() && {
    isPercent = true;
    return std::move(*this);
  }

  std::variant<std::monostate, std::string, double> value;
  CellStyle style = CellStyle::Plain;
  bool isPercent = false;
};

/// One sheet; lives as long as its book. Rows come one below the other.
class XlsxSheet {
public:
  /// The line of titles: stays in sight, and filters hang on it. At most one a sheet.
  void heading(const std::vector<std::string> &titles);
  /// A row; `style` is that of the cells which have none of their own. A hidden row is one that the
  /// reader must unfold: it belongs to the shown one above it.
  void row(const std::vector<Cell> &cells, CellStyle style = CellStyle::Plain,
           bool isHidden = false);
  /// The next row stays empty.
  void skipRow() { ++next; }
  /// How the sheet is called in the end.
  const std::string &name() const { return title; }

private:
  friend class XlsxBook;
  struct Impl;
  XlsxSheet(std::shared_ptr<Impl> impl, std::string title);
  void write(uint32_t column, const Cell &cell, CellStyle style);

  std::shared_ptr<Impl> impl;
  std::string title;
  uint32_t next = 0;
  std::vector<uint32_t> widths; ///< The longest text of each column, in characters.
};

class XlsxBook {
public:
  XlsxBook();
  ~XlsxBook();
  XlsxBook(const XlsxBook &) = delete;
  XlsxBook &operator=(const XlsxBook &) = delete;

  /// Adds a sheet. What names may not have becomes `_`, they are cut to 28 characters, and `_1`,
  /// `_2`, ... tell those apart that would be alike (also but for case).
  XlsxSheet &sheet(std::string_view name);

  /// Writes the book to `path`, whole or not at all. Nothing may be added afterwards.
  Status save(const std::string &path);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace cupel::results
