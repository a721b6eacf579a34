// The options of compilers and devices: one table with name, type, default, help and other names,
// from which checks, values, forms and documentation come. Used by the PJRT plugin, the command line
// and, through the C API, by Python. What is not in the table is refused with the name that comes
// nearest; nothing of PJRT and no MLIR may appear here.

#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::runtime {

using OptionValue = std::variant<std::string, int64_t, bool, double>;

/// To whom an option is given. A program takes its client's value unless it is given another.
enum class OptionScope : uint8_t {
  Client = 1,  ///< When a client of our own plugin is created.
  Program = 2, ///< When a program is compiled.
  Codegen = 4, ///< When standalone code is written.
};

struct OptionInfo {
  enum class Type : uint8_t { String, Integer, Boolean };
  /// Of text: none, one, some parted by commas, or what is one where there is such a file.
  enum class Paths : uint8_t { None, One, List, IfThere };
  std::string_view name;
  Type type;
  uint8_t scopes;               // Of OptionScope.
  std::string_view defaultText; // As documentation shows it.
  std::string_view environment; // Variables that set it for clients too, parted by spaces.
  std::string_view help;
  /// Of text: the words that it takes, parted by spaces, else any. Words that mean the same stand
  /// with bars between them, ours first: "cpu|default reference".
  std::string_view choices = {};
  std::string_view aliases = {}; // Other names of it, parted by spaces.
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  bool mayBeFile = false; // Of text: a name that ends with .json stands for what the file holds.
  Paths paths = Paths::None;

  bool isFor(OptionScope scope) const { return scopes & uint8_t(scope); }
  std::string_view typeName() const;
};

std::span<const OptionInfo> optionTable();

/// The words of a list that is parted by spaces.
std::vector<std::string_view> optionWords(std::string_view list);

/// NAME=VALUE with whole paths where the option names files or folders: processes that it is handed to run in folders of their own.
std::string withWholePaths(std::string_view option);
/// The same for all variables of the environment that set options.
void makePathsOfEnvironmentWhole();

/// The options that were given to somebody, checked against the table.
class Options {
public:
  explicit Options(OptionScope scope) : scope(scope) {}

  /// Text is taken for numbers and booleans (true, yes, on, 1, ...) as well: some callers have
  /// nothing else. Dashes in a name are underscores.
  Status set(std::string_view name, OptionValue value);
  /// NAME=VALUE.
  Status setText(std::string_view text);
  /// What the environment says of options for clients that were not given.
  Status readEnvironment();

  /// What was given; nothing if that is nothing.
  std::optional<std::string> string(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  bool isGiven(std::string_view name) const { return values.contains(name); }

private:
  OptionScope scope;
  std::map<std::string_view, OptionValue> values; // Names are those of the table.
};

/// Where programs may be computed in one of two ways; by default as the golden reference does.
struct Numerics {
  bool wideAccumulation = false;
  bool scatterSkipsWindows = false;
  bool programTypes = false; // Not only those of the architecture.
  bool computesWhole = false;
  bool narrowsProducts = false; // Of f32, which take bf16.
  bool keepsNarrow = false;     // And what they read is bf16 for all that read it.
};
/// Takes what the options of a client or a compilation say; the rest stays.
void chooseNumerics(const Options &options, Numerics &numerics);

/// What the compiler does to programs, and whether all that it makes is machine code.
struct Rewrites {
  int64_t limit = -1, wrong = 0, level = 2;
  bool alwaysCode = false;
};
/// As for numerics.
void chooseRewrites(const Options &options, Rewrites &rewrites);

/// Whether hosts are to copy what devices hold, although it is memory that they could read.
bool choosesCopies(const Options &options);

/// The page that documents the table, as Markdown.
std::string optionsPage();

} // namespace cupel::runtime
