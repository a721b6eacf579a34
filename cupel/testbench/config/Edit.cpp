#include "cupel/testbench/config/Edit.h"

#include "cupel/support/Files.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/Layout.h"
#include "cupel/testbench/config/TestId.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::config {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSection = "test_config";

size_t indexOf(const YamlNode &mapping, std::string_view key) {
  for (size_t i = 0; mapping.isMapping() && i < mapping.pairCount(); ++i)
    if (mapping.key(i).isScalar() && mapping.key(i).text == key)
      return i;
  return SIZE_MAX;
}

bool isSame(const YamlNode &a, const YamlNode &b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.text != b.text ||
      a.style != b.style)
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!isSame(a.items[i], b.items[i]))
      return false;
  return true;
}

/// Whether two trees are the same but for what is at `path`, which may be missing in either.
bool isSameExcept(const YamlNode &a, const YamlNode &b, const std::vector<std::string_view> &path,
                  size_t depth) {
  if (depth == path.size())
    return true;
  // Making or emptying a mapping turns nothing into one and back.
  if ((a.isNull() && b.isMapping()) || (a.isMapping() && b.isNull())) {
    const YamlNode &mapping = a.isMapping() ? a : b;
    return mapping.pairCount() == 1 && indexOf(mapping, path[depth]) == 0;
  }
  if (!a.isMapping() || !b.isMapping())
    return false;
  size_t skipA = indexOf(a, path[depth]), skipB = indexOf(b, path[depth]);
  size_t i = 0, j = 0;
  while (true) {
    i += i == skipA;
    j += j == skipB;
    if (i >= a.pairCount() || j >= b.pairCount())
      break;
    if (!isSame(a.key(i), b.key(j)) || !isSame(a.value(i), b.value(j)))
      return false;
    ++i;
    ++j;
  }
  if (i < a.pairCount() || j < b.pairCount())
    return false;
  if (skipA != SIZE_MAX && skipB != SIZE_MAX)
    return isSameExcept(a.value(skipA), b.value(skipB), path, depth + 1);
  return true;
}

/// The fields that a value has when it is read.
std::optional<Fields> readOne(const FieldInfo &field, const YamlNode &value, std::string &why) {
  Fields fields;
  std::vector<Diagnostic> found;
  readField(field, value, "", fields, found);
  if (found.empty())
    return fields;
  why = found[0].message + (found[0].hint.empty() ? "" : "; " + found[0].hint);
  return std::nullopt;
}

Error layoutError(const std::string &file, const YamlNode &at, std::string_view what) {
  return Error{file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
               std::string(what) + " in this layout cannot be edited; edit it by hand"};
}

/// Writes through a temporary file that is on the disk before it takes the other's place.
Status writeDurably(const std::string &path, std::string_view bytes) {
  std::error_code ignored;
  // What a link leads to is replaced, not the link.
  fs::path target = fs::weakly_canonical(path, ignored);
  if (ignored)
    target = path;
  std::string temporary = target.string() + ".XXXXXX";
  int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  auto failed = [&](const char *what) {
    std::string message = path + ": cannot " + what + ": " + std::strerror(errno);
    if (fd >= 0) {
      ::close(fd);
      ::unlink(temporary.c_str());
    }
    return Status(Error{message});
  };
  if (fd < 0)
    return failed("create a file beside it");
  struct stat info;
  mode_t mode = ::stat(target.c_str(), &info) == 0 ? info.st_mode & 07777 : 0644;
  if (::fchmod(fd, mode) != 0)
    return failed("set its mode");
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return failed("write it");
    bytes.remove_prefix(size_t(count));
  }
  if (::fsync(fd) != 0)
    return failed("write it");
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return failed("replace it");
  ::close(fd);
  int folder = ::open(target.parent_path().empty() ? "." : target.parent_path().c_str(),
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder); // The name; where a file system cannot, the file itself is safe anyway.
    ::close(folder);
  }
  return {};
}

} // namespace

FileEditor::FileEditor(std::string fileName, std::string text)
    : name(std::move(fileName)), original(text), current(std::move(text)) {}

Status FileEditor::reparse() {
  std::vector<Diagnostic> found;
  YamlFile parsed(name, current, found);
  if (!found.empty())
    return Error{render(found[0])};
  if (parsed.root() && !parsed.root()->isMapping())
    return Error{name + ":1:1: expected a mapping with the key test_config"};
  tree.emplace(std::move(parsed));
  return {};
}

Result<FileEditor> FileEditor::fromText(std::string name, std::string text) {
  FileEditor editor(std::move(name), std::move(text));
  if (Status status = editor.reparse(); !status)
    return status.error();
  return editor;
}

Result<FileEditor> FileEditor::open(const std::string &path, bool create) {
  std::error_code error;
  bool existed = fs::exists(path, error);
  std::string text;
  if (existed || !create) {
    Result<FileContents> contents = readInput(path, YamlFile::kMaxBytes);
    if (!contents)
      return contents.error();
    text = std::string(contents->bytes());
  }
  Result<FileEditor> editor = fromText(path, std::move(text));
  if (editor)
    editor->existed = existed;
  return editor;
}

std::optional<uint32_t> FileEditor::lineOf(std::string_view id) const {
  const YamlNode *section = tree->root() ? tree->root()->find(kSection) : nullptr;
  size_t index = section ? indexOf(*section, id) : SIZE_MAX;
  if (index == SIZE_MAX)
    return std::nullopt;
  return section->key(index).line;
}

Result<const YamlNode *> FileEditor::findEntry(std::string_view id) const {
  const YamlNode *section = tree->root() ? tree->root()->find(kSection) : nullptr;
  if (section && section->isMapping()) {
    const YamlNode *entry = nullptr;
    for (size_t i = 0; i < section->pairCount(); ++i)
      if (section->key(i).isScalar() && section->key(i).text == id) {
        if (entry)
          return Error{name + ":" + std::to_string(section->key(i).line) + ": " + std::string(id) +
                       " stands twice; remove one first"};
        entry = &section->value(i);
      }
    if (entry && !entry->isMapping())
      return Error{name + ":" + std::to_string(entry->line) + ": " + std::string(id) +
                   " has no fields"};
    if (entry)
      return entry;
  }
  return Error{name + ": " + std::string(id) + " has no entry"};
}

Status FileEditor::apply(const Splice &splice, const std::vector<std::string_view> &path,
                         std::string_view field) {
  std::string before = current;
  std::optional<YamlFile> oldTree = std::move(tree);
  tree.reset();
  current.replace(splice.begin, splice.end - splice.begin, splice.with);
  Status status = reparse();
  if (status) {
    static const YamlNode kNothing;
    const YamlNode *a = oldTree->root() ? oldTree->root() : &kNothing;
    const YamlNode *b = tree->root() ? tree->root() : &kNothing;
    if (!isSameExcept(*a, *b, path, 0))
      status = Error{name + ": the change to " + std::string(path.back()) +
                     " would change something else too; edit the file by hand"};
  }
  if (status && !field.empty()) {
    const YamlNode *node = tree->root();
    for (std::string_view key : path)
      node = node ? node->find(key) : nullptr;
    std::string why;
    if (node && !readOne(*findField(field), *node, why))
      status = Error{name + ": " + why};
  }
  if (!status) {
    current = std::move(before);
    tree = std::move(oldTree);
  }
  return status;
}

Status FileEditor::setField(std::string_view id, std::string_view field, const FieldValue &value,
                            std::string_view arch) {
  const FieldInfo *known = findField(field);
  if (!known) {
    std::vector<std::string_view> names;
    for (const FieldInfo &each : fieldTable())
      names.push_back(each.name);
    std::string_view near = field.size() < 100 ? nearestWord(field, names) : "";
    return Error{std::string(field) + ": unknown field" +
                 (near.empty() ? "" : "; did you mean " + std::string(near) + "?")};
  }
  Result<const YamlNode *> found = findEntry(id);
  if (!found)
    return found.error();
  const YamlNode *mapping = *found;
  std::vector<std::string_view> path = {kSection, id};
  if (!arch.empty()) {
    const YamlNode *overrides = mapping->find(kOverridesField);
    const YamlNode *own = overrides ? overrides->find(arch) : nullptr;
    if (!own || !own->isMapping())
      return addOverride(id, *mapping, field, renderValue(*known, value, current), arch);
    mapping = own;
    path.insert(path.end(), {kOverridesField, arch});
  }
  path.push_back(field);

  size_t index = indexOf(*mapping, field);
  if (index != SIZE_MAX) {
    const YamlNode &old = mapping->value(index);
    std::string rendered = renderValue(*known, value, current, &old);
    // Parsed and compared as values: another spelling of the same is no change.
    std::vector<Diagnostic> ignoredHere;
    YamlFile probe("", "v: " + rendered, ignoredHere);
    std::string why;
    if (!probe.root())
      return Error{name + ": " + std::string(field) + ": the value cannot be written as YAML"};
    std::optional<Fields> wanted = readOne(*known, probe.root()->value(0), why);
    if (!wanted)
      return Error{why};
    if (std::optional<Fields> present = readOne(*known, old, why);
        present && known->isEqual(*present, *wanted))
      return {};
    if (old.isSequence() && old.style == YamlNode::Style::Block) {
      // Items that stay keep their lines, with the comments above and beside them.
      const auto *words = std::get_if<std::vector<std::string>>(&value);
      if (!words)
        return layoutError(name, old, "a list");
      if (!words->empty()) {
        size_t begin = lineStart(current, old.items.front().begin);
        size_t end = lineEnd(current, old.items.back().end);
        std::string newline = newlineOf(current);
        std::string indent(old.column - 1, ' ');
        std::string lines;
        for (const std::string &word : *words) {
          std::string kept;
          for (size_t i = 0; i < old.items.size() && kept.empty(); ++i)
            if (old.items[i].isScalar() && old.items[i].text == word && asText(old.items[i])) {
              size_t from = i == 0 ? begin : lineEnd(current, old.items[i - 1].end);
              kept = current.substr(from, lineEnd(current, old.items[i].end) - from);
            }
          if (kept.empty())
            kept = indent + "- " + renderText(word);
          if (!kept.ends_with('\n'))
            kept += newline;
          lines += kept;
        }
        if (end == current.size() && !current.ends_with('\n'))
          lines.resize(lines.size() - newline.size());
        return apply({begin, end, std::move(lines)}, path, field);
      }
      // An empty list has no lines: it stands behind the colon, in brackets.
      const YamlNode &key = mapping->key(index);
      size_t colon = current.find(':', key.end);
      return apply({colon + 1, old.end, " []"}, path, field);
    }
    if (old.begin == old.end) // Nothing stood there.
      rendered.insert(0, " ");
    return apply({old.begin, old.end, std::move(rendered)}, path, field);
  }

  std::string rendered = renderValue(*known, value, current);
  std::string pair = std::string(field) + ": " + rendered;
  if (mapping->style == YamlNode::Style::Flow) {
    size_t at = mapping->end - 1;
    if (!mapping->items.empty()) {
      at = mapping->items.back().end;
      pair.insert(0, ", ");
    }
    return apply({at, at, std::move(pair)}, path, field);
  }
  // Behind the last field that comes before it in the order of the table, so that related fields
  // stay together; overrides come last of all.
  size_t after = SIZE_MAX;
  for (size_t i = 0; i < mapping->pairCount(); ++i) {
    const FieldInfo *each = mapping->key(i).isScalar() ? findField(mapping->key(i).text) : nullptr;
    if (each && each < known && (after == SIZE_MAX || each > findField(mapping->key(after).text)))
      after = i;
  }
  const YamlNode &anchor = mapping->key(after == SIZE_MAX ? 0 : after);
  std::optional<std::string> indent = indentOf(current, anchor);
  if (!indent)
    return layoutError(name, anchor, "an entry");
  size_t at = after == SIZE_MAX ? lineStart(current, anchor.begin)
                                : pairEnd(current, anchor, mapping->value(after));
  std::string newline = newlineOf(current);
  return apply({at, at, asInsertion(current, at, *indent + pair + newline, newline)}, path, field);
}

Status FileEditor::addOverride(std::string_view id, const YamlNode &entry, std::string_view field,
                               const std::string &rendered, std::string_view arch) {
  std::vector<std::string_view> path = {kSection, id, kOverridesField, arch, field};
  if (entry.style == YamlNode::Style::Flow || entry.items.empty())
    return layoutError(name, entry, "an override of an entry");
  std::optional<std::string> indent = indentOf(current, entry.key(0));
  const YamlNode *section = tree->root()->find(kSection);
  std::optional<std::string> outer = indentOf(current, section->key(indexOf(*section, id)));
  if (!indent || !outer || indent->size() <= outer->size())
    return layoutError(name, entry, "an override of an entry");
  std::string step(indent->size() - outer->size(), ' ');
  std::string newline = newlineOf(current);
  std::string archKey = renderText(arch);
  std::string pair = std::string(field) + ": " + rendered;

  size_t index = indexOf(entry, kOverridesField);
  if (index == SIZE_MAX) {
    size_t last = entry.pairCount() - 1;
    size_t at = pairEnd(current, entry.key(last), entry.value(last));
    std::string lines = *indent + std::string(kOverridesField) + ":" + newline + *indent + step +
                        archKey + ":" + newline + *indent + step + step + pair + newline;
    return apply({at, at, asInsertion(current, at, lines, newline)}, path, field);
  }
  const YamlNode &overrides = entry.value(index);
  if (!overrides.isMapping() || overrides.style == YamlNode::Style::Flow || overrides.items.empty())
    return layoutError(name, overrides, "arch_overrides");
  std::optional<std::string> inner = indentOf(current, overrides.key(0));
  if (!inner || inner->size() <= indent->size())
    return layoutError(name, overrides, "arch_overrides");
  step = std::string(inner->size() - indent->size(), ' ');
  size_t own = indexOf(overrides, arch);
  if (own != SIZE_MAX) { // It is there, with nothing in it.
    const YamlNode &key = overrides.key(own);
    if (!overrides.value(own).isNull() || overrides.value(own).begin != overrides.value(own).end)
      return layoutError(name, key, "an override");
    size_t at = lineEnd(current, key.end);
    std::string line = *inner + step + pair + newline;
    return apply({at, at, asInsertion(current, at, line, newline)}, path, field);
  }
  size_t last = overrides.pairCount() - 1;
  size_t at = pairEnd(current, overrides.key(last), overrides.value(last));
  std::string lines = *inner + archKey + ":" + newline + *inner + step + pair + newline;
  return apply({at, at, asInsertion(current, at, lines, newline)}, path, field);
}

Status FileEditor::removeField(std::string_view id, std::string_view field, std::string_view arch) {
  Result<const YamlNode *> found = findEntry(id);
  if (!found)
    return found.error();
  // From the entry inwards; an override goes with its last field.
  std::vector<std::string_view> path = {kSection, id};
  const YamlNode *mapping = *found;
  std::vector<std::string_view> steps;
  if (!arch.empty())
    steps = {kOverridesField, arch};
  steps.push_back(field);
  const YamlNode *target = mapping; // The mapping from which a pair goes.
  std::string_view victim = steps[0];
  std::vector<std::string_view> victimPath = path;
  const YamlNode *at = mapping;
  for (size_t i = 0; i < steps.size(); ++i) {
    size_t index = at->isMapping() ? indexOf(*at, steps[i]) : SIZE_MAX;
    if (index == SIZE_MAX)
      return {}; // It is not there.
    if (i == 0 || at->pairCount() > 1) {
      target = at;
      victim = steps[i];
      victimPath = path;
    }
    path.push_back(steps[i]);
    at = &at->value(index);
  }
  if (target == *found && target->pairCount() == 1)
    return Error{name + ":" + std::to_string(target->line) + ": " + std::string(field) +
                 " is the only field of " + std::string(id) + "; remove the entry instead"};
  victimPath.push_back(victim);
  size_t index = indexOf(*target, victim);
  const YamlNode &key = target->key(index);
  const YamlNode &value = target->value(index);
  if (target->style == YamlNode::Style::Flow) {
    bool isFirst = index == 0;
    size_t begin = isFirst ? key.begin : target->value(index - 1).end;
    size_t end = isFirst ? target->key(index + 1).begin : std::max(key.end, value.end);
    return apply({begin, end, ""}, victimPath, "");
  }
  if (!indentOf(current, key))
    return layoutError(name, key, "a field");
  size_t begin = lineStart(current, key.begin), end = pairEnd(current, key, value);
  if (end == current.size() && begin > 0 && !current.ends_with('\n')) {
    // The file had no newline at its end and has none afterwards.
    --begin;
    if (begin > 0 && current[begin - 1] == '\r')
      --begin;
  }
  return apply({begin, end, ""}, victimPath, "");
}

Status FileEditor::addEntry(std::string_view id, const FieldValues &fields) {
  if (lineOf(id))
    return Error{name + ": " + std::string(id) + " has an entry already, in line " +
                 std::to_string(*lineOf(id))};
  if (fields.empty())
    return Error{std::string(id) + ": an entry needs at least one field"};
  if (id.empty() || !isOneLine(id))
    return Error{name + ": an id is one line of text"};
  std::string newline = newlineOf(current);
  const YamlNode *section = tree->root() ? tree->root()->find(kSection) : nullptr;

  std::string indent = "  ", inner = "    ";
  bool spaced = true;
  size_t at = current.size();
  std::string lead;
  if (section && section->isMapping() && !section->items.empty()) {
    if (section->style == YamlNode::Style::Flow)
      return layoutError(name, *section, "a section");
    std::optional<std::string> own = indentOf(current, section->key(0));
    if (!own)
      return layoutError(name, section->key(0), "a section");
    indent = *own;
    const YamlNode &first = section->value(0);
    std::optional<std::string> deeper =
        first.isMapping() && !first.items.empty() && first.style == YamlNode::Style::Block
            ? indentOf(current, first.key(0))
            : std::nullopt;
    inner = deeper && deeper->size() > indent.size() ? *deeper : indent + "  ";
    // Behind the last entry of the same model.
    std::optional<TestId> parsed = parseTestId(id);
    size_t after = section->pairCount() - 1;
    for (size_t i = section->pairCount(); parsed && i-- > 0;) {
      std::optional<TestId> other = parseTestId(section->key(i).text);
      if (other && other->modelPath == parsed->modelPath) {
        after = i;
        break;
      }
    }
    at = skipDeeperComments(current, pairEnd(current, section->key(after), section->value(after)),
                            indent.size());
    // Entries are set apart by a blank line where the file does so.
    size_t last = section->pairCount() - 1;
    size_t start = lineStart(current, section->key(last).begin);
    spaced = last == 0 || isBlank(current, lineStart(current, start - 1));
  } else if (section && section->isNull() && section->begin == section->end) {
    at = lineEnd(current, section->begin);
    spaced = false;
  } else if (section) {
    return layoutError(name, *section, "a section");
  } else {
    lead = (current.empty() || current.ends_with('\n') ? "" : newline) + std::string(kSection) +
           ":" + newline;
    spaced = false;
  }

  for (size_t i = 0; i < fields.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (fields[i].first == fields[k].first)
        return Error{std::string(id) + ": " + fields[i].first + " is given twice"};

  std::string lines = lead;
  if (spaced)
    lines += newline;
  lines += indent + renderText(id) + ":" + newline;
  for (const auto &[field, value] : fields) {
    const FieldInfo *known = findField(field);
    if (!known)
      return Error{field + ": unknown field"};
    lines += inner + field + ": " + renderValue(*known, value, current) + newline;
  }
  std::string text = lead.empty() ? asInsertion(current, at, lines, newline) : lines;
  std::string before = current;
  if (Status status = apply({at, at, text}, {kSection, id}, ""); !status)
    return status;
  // Each value must be one that its field takes.
  Result<const YamlNode *> entry = findEntry(id);
  std::string why;
  if (!entry || (*entry)->pairCount() != fields.size())
    why = "the entry cannot be written as YAML";
  for (const auto &[field, value] : fields)
    if (const YamlNode *node = why.empty() ? (*entry)->find(field) : nullptr)
      readOne(*findField(field), *node, why);
  if (why.empty())
    return {};
  current = std::move(before);
  Status restored = reparse();
  return restored ? Status(Error{name + ": " + std::string(id) + ": " + why}) : restored;
}

Status FileEditor::removeEntry(std::string_view id) {
  if (!lineOf(id))
    return {};
  const YamlNode *section = tree->root()->find(kSection);
  size_t index = indexOf(*section, id);
  const YamlNode &key = section->key(index);
  const YamlNode &value = section->value(index);
  std::optional<std::string> indent = indentOf(current, key);
  if (section->style == YamlNode::Style::Flow || !indent)
    return layoutError(name, key, "an entry");
  for (size_t i = index + 1; i < section->pairCount(); ++i)
    if (section->key(i).isScalar() && section->key(i).text == id)
      return Error{name + ":" + std::to_string(section->key(i).line) + ": " + std::string(id) +
                   " stands twice; remove one by hand"};
  size_t begin = lineStart(current, key.begin);
  size_t end = skipDeeperComments(current, pairEnd(current, key, value), indent->size());
  // One of the blank lines around it goes too.
  bool blankAfter = end >= current.size() || isBlank(current, end);
  size_t previous = begin == 0 ? 0 : lineStart(current, begin - 1);
  if (begin > 0 && isBlank(current, previous) && blankAfter)
    begin = previous;
  else if (index == 0 && end < current.size() && isBlank(current, end))
    end = lineEnd(current, end);
  if (end == current.size() && begin > 0 && !current.ends_with('\n')) {
    --begin;
    if (begin > 0 && current[begin - 1] == '\r')
      --begin;
  }
  return apply({begin, end, ""}, {kSection, id}, "");
}

Status FileEditor::save() {
  if (!isChanged())
    return {};
  std::error_code error;
  if (existed) {
    Result<FileContents> now = readInput(name, YamlFile::kMaxBytes);
    if (!now)
      return now.error();
    if (now->bytes() != original)
      return Error{name + ": was changed by somebody else meanwhile; try again"};
  } else if (fs::exists(name, error)) {
    return Error{name + ": was made by somebody else meanwhile; try again"};
  }
  if (Status status = writeDurably(name, current); !status)
    return status;
  original = current;
  existed = true;
  return {};
}

std::optional<std::string> fileFor(const Configuration &configuration, std::string_view id) {
  if (const Entry *entry = configuration.find(id))
    return configuration.fileName(*entry);
  std::optional<TestId> parsed = parseTestId(id);
  if (!parsed)
    return std::nullopt;
  std::string wanted =
      "test_config_" + std::string(parsed->runMode) + "_" + std::string(parsed->parallelism);
  std::string folder = !parsed->phase.empty()       ? "torch_llm"
                       : parsed->framework == "jax" ? "jax"
                                                    : "torch";
  std::optional<std::string> fallback;
  for (const YamlFile &file : configuration.files()) {
    fs::path path(file.path());
    if (path.stem() != wanted)
      continue;
    std::string own = path.parent_path().filename().string();
    if (own == folder)
      return file.path();
    if (own != "torch" && own != "jax" && own != "torch_llm")
      fallback = file.path();
  }
  return fallback;
}

} // namespace cupel::testbench::config
