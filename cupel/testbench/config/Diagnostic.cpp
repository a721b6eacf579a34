#include "cupel/testbench/config/Diagnostic.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <tuple>

namespace cupel::testbench::config {

namespace {

// In the order of the enum; a test compares.
constexpr CodeInfo kCodes[] = {
    {Code::Unreadable, "C001", Severity::Error, "File cannot be read",
     "The file or folder does not exist, may not be read, or is not a file. Whatever it would have "
     "said is missing, so its tests count as unspecified.",
     "", "Correct the path or its permissions."},
    {Code::Syntax, "C002", Severity::Error, "Not YAML",
     "The file cannot be parsed, and nothing of it is used.", "test_config: [",
     "Correct the text at the place named. Unquoted text that contains a colon and a blank, and "
     "tabs as indentation, are the usual causes."},
    {Code::TooLarge, "C003", Severity::Error, "Too large",
     "The file is larger (16 MiB), deeper (32 levels) or has a larger value (1 MiB) than any "
     "configuration needs. It is refused before it costs memory.",
     "", "Split the file, or look for what was put into it by mistake."},
    {Code::UnsupportedYaml, "C004", Severity::Error, "Part of YAML that is not supported",
     "Anchors, aliases, tags and several documents in a file are refused: an edit in one place "
     "would change others.",
     "test_config:\n  a/pytorch-single_device-inference: &base\n    status: EXPECTED_PASSING",
     "Write the value out."},
    {Code::UnknownSection, "C005", Severity::Error, "Unknown key at the top of a file",
     "A file has the keys `test_config` and `PLACEHOLDER_MODELS`, nothing else. What stands under "
     "another key is not read.",
     "test_configs:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING",
     "Correct the name."},
    {Code::NoSection, "C006", Severity::Warning, "File says nothing about tests",
     "Neither `test_config` nor `PLACEHOLDER_MODELS` is in the file.", "",
     "Move the file out of the folder of the configuration."},
    {Code::NotAMapping, "C007", Severity::Error, "Value of the wrong shape",
     "A section maps ids to entries, an entry maps names of fields to values, and "
     "`arch_overrides` maps architectures to fields. Something else stands there.",
     "test_config:\n  resnet/pytorch-50-single_device-inference: EXPECTED_PASSING",
     "Give the entry its fields, one to a line."},
    {Code::UnknownField, "C010", Severity::Error, "Unknown field",
     "The field does not exist and is ignored, so what it was to say does not hold.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    required_pc: 0.98",
     "Correct the name; the nearest one is named."},
    {Code::WrongKind, "C011", Severity::Error, "Value of the wrong kind",
     "A number, a boolean, a text or a list stands where another of them is expected. The field "
     "is ignored. A number in quotes is text; `yes` and `no` are text too.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    required_pcc: \"0.98\"",
     "Write the value as the field wants it."},
    {Code::UnknownStatus, "C012", Severity::Error, "Unknown status",
     "The statuses are UNSPECIFIED, EXPECTED_PASSING, KNOWN_FAILURE_XFAIL, NOT_SUPPORTED_SKIP and "
     "EXCLUDE_MODEL, in upper or lower case. The test counts as unspecified.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASS",
     "Correct the name."},
    {Code::UnknownBringupStatus, "C013", Severity::Error, "Unknown bring-up status",
     "The bring-up statuses are UNKNOWN, NOT_STARTED, FAILED_FE_COMPILATION, "
     "FAILED_TTMLIR_COMPILATION, FAILED_RUNTIME, INCORRECT_RESULT and PASSED, in upper or lower "
     "case.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n"
     "    status: KNOWN_FAILURE_XFAIL\n    reason: hangs\n    bringup_status: FAILED_RUNTIMES",
     "Correct the name."},
    {Code::OutOfRange, "C014", Severity::Error, "Number out of range",
     "A PCC lies from -1 to 1, tolerances are not negative, a batch has at least one sample, the "
     "optimization level is 0, 1 or 2. The field is ignored.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    required_pcc: 98",
     "Correct the number."},
    {Code::UnknownWord, "C015", Severity::Error, "Word that the field does not know",
     "The field takes one of a few words. `execution_pass` takes FORWARD and BACKWARD.",
     "test_config:\n  resnet/pytorch-50-single_device-training:\n    status: EXPECTED_PASSING\n"
     "    execution_pass: FOREWARD",
     "Correct the word."},
    {Code::DuplicateField, "C016", Severity::Error, "Field given twice",
     "A field, an architecture or a section stands twice in the same place. The first holds.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    status: KNOWN_FAILURE_XFAIL",
     "Remove one."},
    {Code::DuplicateInFile, "C020", Severity::Error, "Entry given twice in a file",
     "Two entries of one file have the same id. The first holds; YAML parsers differ in this, so "
     "other tools may see the second.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "  resnet/pytorch-50-single_device-inference:\n    status: EXCLUDE_MODEL",
     "Remove one."},
    {Code::DuplicateAcrossFiles, "C021", Severity::Error, "Entry given in two files",
     "Entries of two files have the same id. The one in the file that sorts later holds, "
     "silently overruling the other.",
     "", "Remove the one in the file where it does not belong."},
    {Code::WrongFile, "C022", Severity::Warning, "Entry in the wrong file",
     "The name of the file says which run mode and parallelism its entries have "
     "(`test_config_inference_tensor_parallel.yaml`), its folder which framework (`torch`, `jax`, "
     "`torch_llm`). The entry's id says otherwise. It is used all the same, but nobody will look "
     "for it here.",
     "", "Move the entry to the file named."},
    {Code::MalformedId, "C023", Severity::Warning, "Id that no test can have",
     "An id is `<path>[-<variant>]-<parallelism>-<run mode>`, that of a language model "
     "`<path>[-<variant>]-<phase>-seq_<n>-batch_<n>-<sharding>-<mesh>-<run mode>`. The id of a "
     "test "
     "that is a file or folder (a program, an ONNX model, an archive, an operator case) is its "
     "path, with `#PART` where it holds several; it may be anything that does not look like a "
     "model's. This one is none of these, so it matches no test.",
     "test_config:\n  resnet/pytorch-50-single_devise-inference:\n    status: EXPECTED_PASSING",
     "Correct the id; `cupel list` shows those that exist."},
    {Code::UnknownOverrideArch, "C030", Severity::Error, "Override for an unknown architecture",
     "No test is ever run with this architecture, so the override never applies. Further "
     "architectures are made known with `--known-arch`.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    arch_overrides:\n      n15:\n        required_pcc: 0.97",
     "Correct the name."},
    {Code::UnknownSupportedArch, "C031", Severity::Error, "Unknown architecture",
     "`supported_archs` names an architecture that does not exist, so no job selects the test "
     "for it.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    supported_archs: [n150, p151]",
     "Correct the name."},
    {Code::UnsupportedOverrideArch, "C032", Severity::Warning,
     "Override for an architecture that is not supported",
     "The override is for an architecture that is not among the entry's `supported_archs` (n150 "
     "and p150 where it names none), so no job selects the test there.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    supported_archs: [p150]\n    arch_overrides:\n      n150:\n        required_pcc: 0.97",
     "Add the architecture to `supported_archs`, or remove the override."},
    {Code::OverrideEqualsBase, "C033", Severity::Warning, "Override equal to its base",
     "The override sets a field to what the entry says anyway. It changes nothing, until someone "
     "changes the base and not the override.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    arch_overrides:\n      p150:\n        status: EXPECTED_PASSING",
     "Remove the field from the override."},
    {Code::EmptyOverride, "C034", Severity::Warning, "Empty override",
     "The override, or `arch_overrides` as a whole, has no fields.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    arch_overrides:\n      p150:",
     "Remove it."},
    {Code::MissingReason, "C040", Severity::Warning, "Status without reason",
     "KNOWN_FAILURE_XFAIL and NOT_SUPPORTED_SKIP say that something is wrong; `reason` says what, "
     "best with a link. Without it nobody can tell later whether it still holds.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n"
     "    status: KNOWN_FAILURE_XFAIL",
     "Add a `reason`."},
    {Code::MissingStatus, "C041", Severity::Warning, "Entry without status",
     "Neither the entry nor any of its overrides has a status, so the test counts as unspecified "
     "in spite of its entry.",
     "test_config:\n  resnet/pytorch-50-single_device-training:\n"
     "    bringup_status: FAILED_RUNTIME\n    reason: out of memory",
     "Add a `status`."},
    {Code::MissingStatusOnArch, "C042", Severity::Warning, "No status on a supported architecture",
     "The status comes from the overrides alone, and a supported architecture has none: there "
     "the test counts as unspecified. Runs without `--arch` see none of them.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    arch_overrides:\n"
     "      n150:\n        status: EXPECTED_PASSING",
     "Give the entry a `status`, or one to each supported architecture."},
    {Code::Contradiction, "C043", Severity::Warning, "Status and bring-up status contradict",
     "A test that is expected to pass cannot at the same time fail to compile or to run, and one "
     "that is known to fail has not PASSED.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    bringup_status: FAILED_RUNTIME",
     "Correct the one that is out of date."},
    {Code::RepeatsDefaults, "C050", Severity::Warning, "Entry that repeats the defaults",
     "Everything that the entry says would hold without it.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: UNSPECIFIED",
     "Remove the entry."},
    {Code::DefaultValue, "C051", Severity::Note, "Field that repeats the default",
     "The field has the value it would have anyway. That may be on purpose.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    required_pcc: 0.99",
     "Remove the field, unless it is there to stay when the default changes."},
    {Code::RepeatedListItem, "C052", Severity::Warning, "Word given twice in a list",
     "A list of markers, architectures or patterns has the same word twice.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    markers: [push, push]",
     "Remove one."},
    {Code::UnusableMarker, "C053", Severity::Warning, "Marker that cannot be selected",
     "The words of `-m` are made of letters, digits and `_ : + - . / [ ] \\`, and are not `and`, "
     "`or`, `not`. No expression can name this marker.",
     "test_config:\n  resnet/pytorch-50-single_device-inference:\n    status: EXPECTED_PASSING\n"
     "    markers: [\"two words\"]",
     "Rename the marker."},
    {Code::UnknownTest, "C060", Severity::Error, "Entry without test",
     "No test of the zoo has this id: the model, its variant or a parameter was renamed or "
     "removed, or is misspelt. The entry has no effect. Only with `--zoo`.",
     "", "Correct the id; the closest ones are named. Or remove the entry."},
    {Code::MissingEntry, "C061", Severity::Note, "Test without entry",
     "The zoo has a test about which the configuration says nothing; it counts as unspecified. "
     "Only with `--zoo`; `--missing` lists them one by one.",
     "", "Add an entry once it is known what to expect of the test."},
    {Code::ArrivedPlaceholder, "C062", Severity::Warning, "Placeholder whose model has arrived",
     "PLACEHOLDER_MODELS lists models that are planned. The zoo has this one by now, so it is "
     "reported twice. Only with `--zoo`.",
     "", "Remove the placeholder."},
    {Code::UndecidedTests, "C063", Severity::Note, "Entries of a loader that cannot be read",
     "The loader's tests cannot be told from its text, or it cannot be read, so nobody knows "
     "whether the entries of its model match a test. Only with `--zoo`.",
     "", "`--import` lets Python say which tests the loader has."},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

} // namespace

std::span<const CodeInfo> codes() { return kCodes; }

const CodeInfo &info(Code code) {
  assert(size_t(code) < std::size(kCodes) && kCodes[size_t(code)].code == code);
  return kCodes[size_t(code)];
}

bool isValueNotTaken(Code code) { return code == Code::WrongKind || code == Code::OutOfRange; }

const CodeInfo *findCode(std::string_view id) {
  for (const CodeInfo &row : kCodes)
    if (std::equal(id.begin(), id.end(), row.id.begin(), row.id.end(),
                   [](char a, char b) { return upper(a) == b; }))
      return &row;
  return nullptr;
}

std::string_view name(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  }
  return "error";
}

/// The codes of values that are not taken, as the page lists them.
static std::string refusedCodes() {
  std::string list;
  for (const CodeInfo &row : kCodes)
    if (isValueNotTaken(row.code))
      list += (list.empty() ? "" : ", ") + std::string(row.id);
  return list;
}

std::string codesPage() {
  std::string page =
      "# Diagnostics of the configuration\n\n"
      "Made by `scripts/docs.py` from the table in `cupel/testbench/config/Diagnostic.cpp`: change "
      "that, not this page.\n\n"
      "`cupel config check` shows these, and so does every verb that loads a configuration. An "
      "error makes the check fail, a\nwarning only with `--strict`, a note never. "
      "`cupel config explain CODE` says here what this page says.\n"
      "`cupel run` refuses to begin where a value is not taken (" +
      refusedCodes() + "); it shows the others and goes on.\n\n"
      "| code | severity | what |\n|---|---|---|\n";
  for (const CodeInfo &row : kCodes) {
    std::string anchor;
    for (char c : row.id)
      anchor += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    page += "| [" + std::string(row.id) + "](#" + anchor + ") | " +
            std::string(name(row.severity)) + " | " + std::string(row.title) + " |\n";
  }
  for (const CodeInfo &row : kCodes) {
    page += "\n## " + std::string(row.id) + "\n\n**" + std::string(row.title) + "** (" +
            std::string(name(row.severity)) + "). " + std::string(row.explanation) + "\n";
    if (!row.example.empty())
      page += "\n```yaml\n" + std::string(row.example) + "\n```\n";
    page += "\n" + std::string(row.remedy) + "\n";
  }
  return page;
}

std::string render(const Diagnostic &diagnostic) {
  std::string line = diagnostic.file;
  if (diagnostic.line != 0)
    line += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column);
  line += ": " + std::string(name(diagnostic.severity)) + ": " + diagnostic.message;
  if (!diagnostic.hint.empty())
    line += "; " + diagnostic.hint;
  return line + " [" + std::string(info(diagnostic.code).id) + "]";
}

void sortDiagnostics(std::vector<Diagnostic> &diagnostics) {
  std::sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &a, const Diagnostic &b) {
    return std::tie(a.file, a.line, a.column, a.code, a.message) <
           std::tie(b.file, b.line, b.column, b.code, b.message);
  });
}

} // namespace cupel::testbench::config
