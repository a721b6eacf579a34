#include "cupel/testbench/zoo/LoaderCache.h"

#include "cupel/support/Files.h"
#include "cupel/support/Version.h"

#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

namespace cupel::testbench::zoo {
namespace {

/// Grows with every change of what is stored or of how loaders are read.
constexpr uint32_t kFormat = 3;
constexpr std::string_view kMagic = "cupelzoo";
constexpr uint32_t kMaxCount = 1u << 24;

/// FNV-1a over eight bytes at a time; for telling changed files, not against forgery.
uint64_t fnv(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325 ^ bytes.size();
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;
    bytes.remove_prefix(8);
  }
  for (unsigned char c : bytes)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

uint64_t contentOf(const std::string &file) {
  Result<FileContents> contents = readInput(file, uint64_t{64} << 20);
  return contents ? fnv(contents->bytes()) : 0;
}

class Writer {
public:
  void number(uint64_t value) {
    while (value >= 0x80) {
      bytes += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes += static_cast<char>(value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes += value;
  }
  void remark(const Remark &value) {
    text(value.file);
    number(value.line);
    number(value.column);
    text(value.message);
  }
  void variants(const std::vector<Variant> &list) {
    number(list.size());
    for (const Variant &v : list)
      for (const std::string *field :
           {&v.name, &v.model, &v.group, &v.task, &v.source, &v.framework})
        text(*field);
  }
  std::string bytes;
};

/// Reads what Writer wrote; `good` turns false, and everything else empty, on damage.
class Reader {
public:
  explicit Reader(std::string_view bytes) : left(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left.empty())
        break;
      auto byte = static_cast<unsigned char>(left.front());
      left.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (!(byte & 0x80))
        return value;
    }
    good = false;
    return 0;
  }
  uint32_t count() {
    uint64_t value = number();
    if (value > kMaxCount || value > left.size())
      good = false;
    return good ? static_cast<uint32_t>(value) : 0;
  }
  std::string text() {
    uint32_t size = count();
    std::string value(left.substr(0, size));
    left.remove_prefix(size);
    return value;
  }
  Remark remark() {
    Remark value;
    value.file = text();
    value.line = static_cast<uint32_t>(number());
    value.column = static_cast<uint32_t>(number());
    value.message = text();
    return value;
  }
  std::vector<Variant> variants() {
    std::vector<Variant> list(count());
    for (Variant &v : list)
      for (std::string *field : {&v.name, &v.model, &v.group, &v.task, &v.source, &v.framework})
        *field = text();
    return list;
  }
  bool atEnd() const { return left.empty(); }
  bool good = true;

private:
  std::string_view left;
};

std::string header() {
  Writer writer;
  writer.bytes = kMagic;
  writer.number(kFormat);
  writer.text(version());
  return writer.bytes;
}

} // namespace

LoaderCache::LoaderCache(const std::string &folder, const std::string &root) {
  if (folder.empty())
    return;
  path = fmt::format("{}/zoo-{:016x}.bin", folder, fnv(root));
  Result<FileContents> contents = readInput(path, uint64_t{64} << 20);
  if (!contents)
    return;
  if (!parse(contents->bytes())) {
    dependencies.clear();
    loaders.clear();
  }
}

bool LoaderCache::parse(std::string_view bytes) {
  std::string expected = header();
  if (!bytes.starts_with(expected) || bytes.size() < expected.size() + 8)
    return false;
  uint64_t checksum = 0;
  memcpy(&checksum, bytes.data() + bytes.size() - 8, 8);
  std::string_view body = bytes.substr(expected.size(), bytes.size() - expected.size() - 8);
  if (fnv(body) != checksum)
    return false;
  Reader reader(body);
  dependencies.resize(reader.count());
  for (Dependency &dependency : dependencies) {
    dependency.path = reader.text();
    dependency.stamp.size = reader.number();
    dependency.stamp.modified = static_cast<int64_t>(reader.number());
    dependency.content = reader.number();
  }
  uint32_t count = reader.count();
  for (uint32_t i = 0; i < count && reader.good; ++i) {
    Loader loader;
    loader.file = reader.text();
    loader.modelPath = reader.text();
    loader.framework = loader.modelPath.substr(loader.modelPath.rfind('/') + 1);
    uint64_t flags = reader.number();
    loader.state = static_cast<Loader::State>(std::min<uint64_t>(flags & 3, Loader::Broken));
    loader.hasPrefill = flags & 4;
    loader.hasDecode = flags & 8;
    loader.imported = flags & 16;
    if (loader.state != Loader::Decided)
      loader.why = reader.remark();
    loader.variants = reader.variants();
    loader.prefillVariants = reader.variants();
    loader.methods.resize(reader.count());
    for (Method &method : loader.methods) {
      method.name = reader.text();
      method.parameters.resize(reader.count());
      for (std::string &parameter : method.parameters)
        parameter = reader.text();
    }
    loader.doubts.resize(reader.count());
    for (Remark &doubt : loader.doubts)
      doubt = reader.remark();
    std::vector<uint32_t> from(reader.count());
    for (uint32_t &index : from) {
      index = static_cast<uint32_t>(reader.number());
      if (index >= dependencies.size())
        return false;
    }
    std::string key = loader.file;
    loaders.emplace(std::move(key), std::pair(std::move(loader), std::move(from)));
  }
  return reader.good && reader.atEnd();
}

const Loader *LoaderCache::find(const std::string &file) {
  auto found = loaders.find(file);
  if (found == loaders.end())
    return nullptr;
  for (uint32_t index : found->second.second) {
    Dependency &dependency = dependencies[index];
    if (dependency.state == Dependency::Unchecked) {
      FileStamp now = stampOf(dependency.path);
      dependency.state = now == dependency.stamp ? Dependency::Same : Dependency::Changed;
      if (dependency.state == Dependency::Changed && now.size != FileStamp::kMissing &&
          now.size == dependency.stamp.size && dependency.content != 0 &&
          contentOf(dependency.path) == dependency.content) {
        dependency.state = Dependency::Same;
        stale = true;
      }
    }
    if (dependency.state == Dependency::Changed)
      return nullptr;
  }
  return &found->second.first;
}

void LoaderCache::replace(const std::vector<Loader> &current, ModuleLibrary &library) {
  if (path.empty())
    return;
  Writer body;
  std::unordered_map<std::string_view, uint32_t> numbers;
  std::vector<std::string_view> paths;
  auto numberOf = [&](const std::string &file) {
    auto [place, isNew] = numbers.emplace(file, static_cast<uint32_t>(paths.size()));
    if (isNew)
      paths.push_back(file);
    return place->second;
  };
  // A loader that came from the cache brings no list of its own.
  auto filesOf = [&](const Loader &loader) -> std::vector<std::string> {
    if (!loader.dependencies.empty())
      return loader.dependencies;
    std::vector<std::string> files;
    if (auto known = loaders.find(loader.file); known != loaders.end())
      for (uint32_t index : known->second.second)
        files.push_back(dependencies[index].path);
    return files;
  };
  std::vector<std::vector<std::string>> all;
  for (const Loader &loader : current)
    all.push_back(filesOf(loader));
  for (const auto &files : all)
    for (const std::string &file : files)
      numberOf(file);
  body.number(paths.size());
  for (std::string_view file : paths) {
    body.text(file);
    FileStamp stamp = library.stamp(std::string(file));
    body.number(stamp.size);
    body.number(static_cast<uint64_t>(stamp.modified));
    // Hashed only if it is still the file that was read.
    bool isSame = stamp.size != FileStamp::kMissing && stampOf(std::string(file)) == stamp;
    body.number(isSame ? contentOf(std::string(file)) : 0);
  }
  body.number(current.size());
  for (size_t i = 0; i < current.size(); ++i) {
    const Loader &loader = current[i];
    body.text(loader.file);
    body.text(loader.modelPath);
    body.number(uint64_t{loader.state} | (loader.hasPrefill ? 4 : 0) | (loader.hasDecode ? 8 : 0) |
                (loader.imported ? 16 : 0));
    if (loader.state != Loader::Decided)
      body.remark(loader.why);
    body.variants(loader.variants);
    body.variants(loader.prefillVariants);
    body.number(loader.methods.size());
    for (const Method &method : loader.methods) {
      body.text(method.name);
      body.number(method.parameters.size());
      for (const std::string &parameter : method.parameters)
        body.text(parameter);
    }
    body.number(loader.doubts.size());
    for (const Remark &doubt : loader.doubts)
      body.remark(doubt);
    body.number(all[i].size());
    for (const std::string &file : all[i])
      body.number(numberOf(file));
  }
  uint64_t checksum = fnv(body.bytes);
  std::string bytes = header() + body.bytes;
  bytes.append(reinterpret_cast<const char *>(&checksum), 8);
  std::string folder = path.substr(0, path.rfind('/'));
  for (size_t slash = 1; slash != std::string::npos;) {
    slash = folder.find('/', slash + 1);
    mkdir(folder.substr(0, slash).c_str(), 0777);
  }
  // A cache that cannot be written costs time, nothing else.
  (void)static_cast<bool>(writeOutput(path, bytes));
}

} // namespace cupel::testbench::zoo
