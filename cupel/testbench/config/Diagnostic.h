// What is wrong with a configuration, as values: a code from one table (which also makes the
// reference page), a place, a sentence and what to do about it. Made by the loader and the checks,
// shown by `cupel config check` and by every verb that loads a configuration. Nothing here reads
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::config {

enum class Severity : uint8_t {
  Note,    ///< Worth knowing; never makes a check fail.
  Warning, ///< Probably not meant; fails a check with --strict.
  Error,   ///< What it stands on is ignored; fails a check.
};

enum class Code : uint8_t {
  Unreadable,
  Syntax,
  TooLarge,
  UnsupportedYaml,
  UnknownSection,
  NoSection,
  NotAMapping,
  UnknownField,
  WrongKind,
  UnknownStatus,
  UnknownBringupStatus,
  OutOfRange,
  UnknownWord,
  DuplicateField,
  DuplicateInFile,
  DuplicateAcrossFiles,
  WrongFile,
  MalformedId,
  UnknownOverrideArch,
  UnknownSupportedArch,
  UnsupportedOverrideArch,
  OverrideEqualsBase,
  EmptyOverride,
  MissingReason,
  MissingStatus,
  MissingStatusOnArch,
  Contradiction,
  RepeatsDefaults,
  DefaultValue,
  RepeatedListItem,
  UnusableMarker,
  UnknownTest,
  MissingEntry,
  ArrivedPlaceholder,
  UndecidedTests,
};

/// One row of the table of codes.
struct CodeInfo {
  Code code;
  std::string_view id;          ///< As shown: C010. Never reused for something else.
  Severity severity;            ///< Before --strict.
  std::string_view title;       ///< A few words.
  std::string_view explanation; ///< What it means, why it matters.
  std::string_view example;     ///< A piece of YAML that has it; empty where none makes sense.
  std::string_view remedy;      ///< What to do.
};

std::span<const CodeInfo> codes();
const CodeInfo &info(Code code);
/// Whether a value that somebody gave a test was not taken: judged without it, the test would be
/// another one than was asked for, so `cupel run` refuses.
bool isValueNotTaken(Code code);
/// By its id, in either case; null for none.
const CodeInfo *findCode(std::string_view id);
/// The page docs/reference/config-diagnostics.md, made from the table.
std::string codesPage();

std::string_view name(Severity severity);

struct Diagnostic {
  Code code;
  Severity severity;
  std::string file;
  uint32_t line = 0;   ///< From 1; 0 where the whole file is meant.
  uint32_t column = 0; ///< From 1, in characters.
  std::string message; ///< One line, without the place.
  std::string hint;    ///< What to do next; may be empty.

  bool operator==(const Diagnostic &) const = default;
};

/// `file:line:column: severity: message [C010]`, with `; hint` before the code where there is one.
std::string render(const Diagnostic &diagnostic);

/// By file, place and code: the order in which they are shown.
void sortDiagnostics(std::vector<Diagnostic> &diagnostics);

} // namespace cupel::testbench::config
