// The proposals of `propose` as edits of files: through the editor that keeps what it does not
// change, and shown as a patch.

#include "cupel/results/report/Text.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/triage/Accept.h"
#include "cupel/testbench/triage/Patch.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace cupel::testbench::triage {

using config::FileEditor;
namespace fs = std::filesystem;

namespace {

Status edit(FileEditor &editor, const Proposal &proposal) {
  if (proposal.isNewEntry) {
    config::FieldValues own;
    for (const FieldChange &change : proposal.changes)
      if (change.arch.empty() && change.value)
        own.emplace_back(change.field, *change.value);
    if (Status added = editor.addEntry(proposal.id, own); !added)
      return added;
  }
  // What comes goes in first: an entry or an override keeps at least one field.
  for (bool removes : {false, true})
    for (const FieldChange &change : proposal.changes) {
      if (change.value.has_value() == removes || (proposal.isNewEntry && change.arch.empty()))
        continue;
      Status done = removes
                        ? editor.removeField(proposal.id, change.field, change.arch)
                        : editor.setField(proposal.id, change.field, *change.value, change.arch);
      if (!done)
        return done.error().within(proposal.id);
    }
  return {};
}

std::string ledgerLines(const Acceptance &acceptance, const std::string &when,
                        const std::string &why) {
  std::string lines;
  for (const LoweredThreshold &one : acceptance.lowered) {
    nlohmann::ordered_json json = {{"when", when}, {"test", one.id}};
    if (!one.arch.empty())
      json["arch"] = one.arch;
    // As people write them: 0.99 - 0.96 is not 0.030000000000000027.
    json["from"] = one.from;
    json["to"] = one.to;
    json["by"] = std::strtod(results::figure(one.from - one.to).c_str(), nullptr);
    json["why"] = why;
    json["runs"] = one.runs;
    lines += json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return lines;
}

} // namespace

Result<ConfigurationPatch> ConfigurationPatch::make(const Acceptance &acceptance,
                                                    const std::string &ledger,
                                                    const std::string &when,
                                                    const std::string &why) {
  ConfigurationPatch patch;
  for (const Proposal &proposal : acceptance.proposals) {
    auto found = std::ranges::find(patch.files, proposal.file, &File::path);
    if (found == patch.files.end()) {
      Result<FileEditor> editor = FileEditor::open(proposal.file);
      if (!editor)
        return editor.error();
      std::string before = editor->text();
      patch.files.push_back({proposal.file, std::move(before), std::move(*editor)});
      found = patch.files.end() - 1;
    }
    if (Status status = edit(found->editor, proposal); !status)
      return status.error();
  }
  if (!acceptance.lowered.empty()) {
    patch.ledgerPath = ledger;
    std::error_code error;
    patch.ledgerExisted = fs::exists(ledger, error);
    if (patch.ledgerExisted) {
      Result<FileContents> contents = readInput(ledger);
      if (!contents)
        return contents.error();
      patch.ledgerBefore = std::string(contents->bytes());
    }
    patch.ledgerAfter = patch.ledgerBefore + ledgerLines(acceptance, when, why);
  }
  return patch;
}

std::string ConfigurationPatch::text(const std::string &folder) const {
  auto shown = [&](const std::string &path) {
    std::error_code error;
    std::string relative = fs::absolute(path, error)
                               .lexically_normal()
                               .lexically_relative(fs::absolute(folder, error).lexically_normal());
    return relative.empty() || relative.starts_with("..") ? path : relative;
  };
  std::string text;
  for (const File &file : files)
    text += unifiedDiff(shown(file.path), file.before, file.editor.text());
  if (!ledgerPath.empty())
    text += unifiedDiff(shown(ledgerPath), ledgerBefore, ledgerAfter, ledgerExisted);
  return text;
}

Status ConfigurationPatch::save() {
  // The ledger first: no threshold is lowered that is not in it.
  if (!ledgerPath.empty())
    if (Status status = writeOutput(ledgerPath, ledgerAfter); !status)
      return status;
  for (File &file : files)
    if (Status status = file.editor.save(); !status)
      return status;
  return {};
}

} // namespace cupel::testbench::triage
