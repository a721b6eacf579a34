#include "cupel/testbench/zoo/ModuleLibrary.h"

#include "cupel/support/Files.h"

#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

namespace cupel::testbench::zoo {
namespace {

/// More than a hundred times the largest loader there is; a parse tree takes twenty times the text.
constexpr uint64_t kMaxSourceBytes = uint64_t{4} << 20;

/// The line and column (from 1) of a byte.
std::pair<uint32_t, uint32_t> place(std::string_view text, size_t offset) {
  uint32_t line = 1;
  size_t begin = 0;
  for (size_t i = 0; i < offset; ++i)
    if (text[i] == '\n') {
      ++line;
      begin = i + 1;
    }
  return {line, static_cast<uint32_t>(offset - begin + 1)};
}

/// The first byte that is not UTF-8; the size if all are.
size_t firstNotUtf8(std::string_view text) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
  size_t size = text.size();
  for (size_t i = 0; i < size;) {
    unsigned char c = bytes[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || i + length > size)
      return i;
    for (size_t k = 1; k < length; ++k)
      if ((bytes[i + k] & 0xC0) != 0x80)
        return i;
    if ((c == 0xE0 && bytes[i + 1] < 0xA0) || (c == 0xED && bytes[i + 1] > 0x9F) ||
        (c == 0xF0 && bytes[i + 1] < 0x90) || (c == 0xF4 && bytes[i + 1] > 0x8F))
      return i;
    i += length;
  }
  return size;
}

/// The encoding that a comment in the first two lines declares, in lower case; empty if none does.
std::string declaredEncoding(std::string_view text) {
  for (int line = 0; line < 2 && !text.empty(); ++line) {
    size_t end = text.find('\n');
    std::string_view current = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    size_t first = current.find_first_not_of(" \t\f");
    if (first == std::string_view::npos)
      continue;
    if (current[first] != '#')
      break;
    size_t word = current.find("coding");
    if (word == std::string_view::npos || word + 6 >= current.size())
      continue;
    size_t at = word + 6;
    if (current[at] != ':' && current[at] != '=')
      continue;
    at = current.find_first_not_of(" \t", at + 1);
    std::string name;
    while (at < current.size() &&
           (isalnum(static_cast<unsigned char>(current[at])) || strchr("-_.", current[at])))
      name += current[at] == '_' ? '-' : static_cast<char>(tolower(current[at])), ++at;
    return name;
  }
  return "";
}

std::shared_ptr<SourceFile> readSource(const std::string &path) {
  auto file = std::make_shared<SourceFile>();
  file->stamp = stampOf(path);
  if (file->stamp.size != FileStamp::kMissing && file->stamp.size > kMaxSourceBytes) {
    file->tooLarge = true;
    file->problem = {1, 1,
                     fmt::format("the file has {} bytes, and no more than {} are read without "
                                 "running Python",
                                 file->stamp.size, kMaxSourceBytes)};
    return file;
  }
  Result<FileContents> contents = readInput(path, kMaxSourceBytes);
  if (!contents) {
    // The message names the file already; here it is known.
    std::string message = contents.message();
    if (size_t at = message.find(path); at != std::string::npos && message.size() > path.size() + 2)
      message.erase(at, path.size() + (message.compare(at + path.size(), 2, ": ") == 0 ? 2 : 0));
    file->problem = {0, 0, message};
    return file;
  }
  std::string text(contents->bytes());
  if (text.starts_with("\xEF\xBB\xBF"))
    text.erase(0, 3);
  auto refuse = [&](size_t offset, std::string message) {
    auto [line, column] = place(text, offset);
    file->problem = {line, column, std::move(message)};
    return file;
  };
  if (size_t zero = text.find('\0'); zero != std::string::npos)
    return refuse(zero, "a NUL byte: this is not Python source");
  if (size_t bad = firstNotUtf8(text); bad < text.size()) {
    std::string encoding = declaredEncoding(text);
    if (encoding != "latin-1" && encoding != "iso-8859-1" && encoding != "latin1" &&
        encoding != "ascii")
      return refuse(bad, fmt::format("byte 0x{:02x} is not UTF-8{}; save the file as UTF-8",
                                     static_cast<unsigned char>(text[bad]),
                                     encoding.empty()
                                         ? std::string()
                                         : fmt::format(" (the file declares '{}')", encoding)));
    if (encoding == "ascii")
      return refuse(bad, "a byte beyond ASCII in a file that declares ASCII");
    std::string converted;
    converted.reserve(text.size() + text.size() / 8);
    for (char c : text) {
      auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        converted += c;
      } else {
        converted += static_cast<char>(0xC0 | byte >> 6);
        converted += static_cast<char>(0x80 | (byte & 0x3F));
      }
    }
    text = std::move(converted);
  }
  std::shared_ptr<PythonModule> module = PythonModule::parse(std::move(text));
  if (module->problem())
    file->problem = *module->problem();
  else
    file->module = std::move(module);
  return file;
}

/// The folder a path lies in.
std::string parent(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

} // namespace

FileStamp stampOf(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return {};
  return {static_cast<uint64_t>(info.st_size),
          int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

ModuleLibrary::ModuleLibrary(std::string root)
    : rootFolder(std::move(root)), rootName(rootFolder.substr(rootFolder.rfind('/') + 1)) {}

std::shared_ptr<const SourceFile> ModuleLibrary::read(const std::string &path) {
  Entry *entry;
  {
    std::lock_guard lock(mutex);
    std::unique_ptr<Entry> &slot = files[path];
    if (!slot)
      slot = std::make_unique<Entry>();
    entry = slot.get();
  }
  std::call_once(entry->once, [&] {
    entry->file = readSource(path);
    std::lock_guard lock(mutex);
    stamps[path] = entry->file->stamp;
  });
  return entry->file;
}

FileStamp ModuleLibrary::stamp(const std::string &path) {
  std::lock_guard lock(mutex);
  auto found = stamps.find(path);
  if (found == stamps.end())
    found = stamps.emplace(path, stampOf(path)).first;
  return found->second;
}

ModuleLibrary::Target ModuleLibrary::inside(const std::string &folder, std::string_view dotted,
                                            std::vector<std::string> &looked) {
  std::string path = folder;
  for (size_t begin = 0; begin <= dotted.size();) {
    size_t dot = std::min(dotted.find('.', begin), dotted.size());
    path += '/';
    path += dotted.substr(begin, dot - begin);
    begin = dot + 1;
  }
  auto exists = [&](const std::string &file) {
    looked.push_back(file);
    return stamp(file).size != FileStamp::kMissing;
  };
  if (std::string package = path + "/__init__.py"; exists(package))
    return {Target::File, package};
  if (std::string module = path + ".py"; exists(module))
    return {Target::File, module};
  std::lock_guard lock(mutex);
  auto found = folders.find(path);
  if (found == folders.end()) {
    struct stat info = {};
    found = folders.emplace(path, stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)).first;
  }
  if (found->second)
    return {Target::Folder, path};
  return {Target::Nowhere, path};
}

ModuleLibrary::Target ModuleLibrary::resolve(const std::string &importer, std::string_view dotted,
                                             std::vector<std::string> &looked) {
  if (dotted.starts_with('.')) {
    std::string folder = parent(importer);
    dotted.remove_prefix(1);
    while (dotted.starts_with('.')) {
      folder = parent(folder);
      dotted.remove_prefix(1);
    }
    if (!folder.starts_with(rootFolder) ||
        (folder.size() > rootFolder.size() && folder[rootFolder.size()] != '/'))
      return {Target::Nowhere, folder};
    if (dotted.empty()) {
      if (std::string package = folder + "/__init__.py";
          (looked.push_back(package), stamp(package).size != FileStamp::kMissing))
        return {Target::File, package};
      return {Target::Folder, folder};
    }
    return inside(folder, dotted, looked);
  }
  // Absolute: through the zoo's own package (`third_party.tt_forge_models.config`), or from its
  // root, which the runner puts on Python's path.
  for (size_t begin = 0; begin < dotted.size();) {
    size_t dot = std::min(dotted.find('.', begin), dotted.size());
    std::string_view word = dotted.substr(begin, dot - begin);
    if (word == rootName || word == "tt_forge_models")
      return dot < dotted.size() ? inside(rootFolder, dotted.substr(dot + 1), looked)
                                 : Target{Target::Folder, rootFolder};
    begin = dot + 1;
  }
  Target target = inside(rootFolder, dotted, looked);
  return target.kind == Target::File ? target : Target{Target::Outside, std::string(dotted)};
}

} // namespace cupel::testbench::zoo
