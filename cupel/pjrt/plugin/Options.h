// The options of clients and of compilations: one table with name, type, default and help, from
// which checks, values and documentation come. Used by Client and Compile; what is not in the table
// is refused with the name that comes nearest.

#pragma once

#include "cupel/support/Error.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cupel::pjrt {

using OptionValue = std::variant<std::string, int64_t, bool, double>;

struct OptionInfo {
  enum class Type : uint8_t { String, Integer, Boolean };
  std::string_view name;
  Type type;
  std::string_view defaultText; // As documentation shows it.
  std::string_view environment; // The variable that sets it too; empty: none.
  std::string_view help;
  std::string_view choices = {}; // Of text: the words that it takes, parted by spaces; else any.
};

std::span<const OptionInfo> clientOptions();
std::span<const OptionInfo> compileOptions();

/// The options that were given, checked against a table.
class Options {
public:
  explicit Options(std::span<const OptionInfo> table) : table(table) {}

  /// Text is taken for numbers and booleans as well: some callers have nothing else.
  Status set(std::string_view name, OptionValue value);

  /// What was given, else what the environment says; nothing if neither.
  std::optional<std::string> string(std::string_view name) const;
  Result<std::optional<int64_t>> integer(std::string_view name) const;
  Result<std::optional<bool>> boolean(std::string_view name) const;
  bool isGiven(std::string_view name) const { return values.contains(name); }

private:
  std::span<const OptionInfo> table;
  std::map<std::string_view, OptionValue> values; // Names are those of the table.
};

/// Where programs may be computed in one of two ways; by default as the golden reference does.
struct Numerics {
  bool wideAccumulation = false;
  bool scatterSkipsWindows = false;
  bool programTypes = false; // Not only those of the architecture.
  bool computesWhole = false;
};
/// Takes what the options of a client or a compilation say; the rest stays.
Status chooseNumerics(const Options &options, Numerics &numerics);

/// Which rewrites the compiler does, and whether all that it makes is machine code; see CompileOptions.
struct Rewrites {
  int64_t limit = -1, wrong = 0;
  bool alwaysCode = false;
};
/// As for numerics.
Status chooseRewrites(const Options &options, Rewrites &rewrites);

/// Whether hosts are to copy what devices hold, although it is memory that they could read.
Result<bool> choosesCopies(const Options &options);

/// The page that documents both tables, as Markdown.
std::string optionsPage();

} // namespace cupel::pjrt
