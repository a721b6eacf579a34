#include "tests/torch/Mutations.h"

#include "cupel/tensor/Zip.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <zlib.h>

namespace cupel::torch_fuzz {

namespace {

using Json = nlohmann::json;

class Random {
public:
  Random(uint64_t seed, uint64_t number) : engine(seed * 0x9E3779B97F4A7C15ull + number) {
    engine.discard(2);
  }
  uint64_t below(uint64_t limit) { return limit ? engine() % limit : 0; }

private:
  std::mt19937_64 engine;
};

enum class Damage { Bytes, Cut, JsonFields, JsonText, Config, Pickle, Drop, Count };

const char *nameOf(Damage damage) {
  switch (damage) {
  case Damage::Bytes:
    return "bytes of the file";
  case Damage::Cut:
    return "file cut short";
  case Damage::JsonFields:
    return "fields of the program";
  case Damage::JsonText:
    return "text of the program";
  case Damage::Config:
    return "fields of a configuration";
  case Damage::Pickle:
    return "bytes of a pickle";
  default:
    return "a record dropped or renamed";
  }
}

Damage damageOf(Random &random) {
  // Most go where most of the code is.
  constexpr Damage kinds[] = {Damage::Bytes,      Damage::Cut,        Damage::JsonFields,
                              Damage::JsonFields, Damage::JsonFields, Damage::JsonFields,
                              Damage::JsonFields, Damage::JsonText,   Damage::Config,
                              Damage::Pickle,     Damage::Drop};
  return kinds[random.below(std::size(kinds))];
}

/// All values of a document; `hot` are those that decide what is computed.
void collect(Json &value, std::vector<Json *> &all, std::vector<Json *> &hot, bool isHot = false,
             int depth = 0) {
  all.push_back(&value);
  if (isHot)
    hot.push_back(&value);
  if (depth >= 40 || !(value.is_array() || value.is_object()))
    return;
  for (auto at = value.begin(); at != value.end(); ++at) {
    std::string key = value.is_object() ? at.key() : "";
    // Notes for readers: damage there is seldom seen.
    if (key == "metadata" || key == "module_call_graph" || key == "device" || key == "guards_code")
      continue;
    collect(*at, all, hot, isHot || key == "nodes" || key == "sizes" || key == "config", depth + 1);
  }
}

Json hostile(Random &random) {
  switch (random.below(14)) {
  case 0:
    return INT64_MAX;
  case 1:
    return INT64_MIN;
  case 2:
    return UINT64_MAX;
  case 3:
    return -1;
  case 4:
    return 0;
  case 5:
    return 1e308;
  case 6:
    return nullptr;
  case 7:
    return "";
  case 8:
    return "x\n\x1b[31m";
  case 9:
    return Json::array();
  case 10:
    return Json::object();
  case 11:
    return int64_t{1} << random.below(63);
  case 12:
    return "Symbol('s0')";
  default:
    return random.below(2) == 0;
  }
}

std::string damagedJson(const std::string &text, Random &random) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded())
    return text;
  const Json whole = document;
  for (uint64_t i = 0, count = 1 + random.below(3); i < count || (document == whole && i < 20);
       ++i) {
    std::vector<Json *> all, hot;
    collect(document, all, hot);
    const std::vector<Json *> &from = !hot.empty() && random.below(4) ? hot : all;
    Json &place = *from[random.below(from.size())];
    Json other = *all[random.below(all.size())];
    switch (random.below(6)) {
    case 0:
      place = hostile(random);
      break;
    case 1:
      place = std::move(other); // Another part of the document.
      break;
    case 2:
      if (place.is_object() && !place.empty())
        place.erase(std::next(place.begin(), static_cast<ptrdiff_t>(random.below(place.size()))));
      else if (place.is_array() && !place.empty())
        place.erase(random.below(place.size()));
      break;
    case 3:
      if (place.is_array() && !place.empty())
        place.push_back(place[random.below(place.size())]);
      else if (place.is_number_integer())
        place = place.get<int64_t>() + (random.below(2) ? 1 : -1);
      break;
    case 4:
      if (place.is_array() && place.size() > 1)
        std::swap(place[random.below(place.size())], place[random.below(place.size())]);
      else if (place.is_number_integer())
        place = static_cast<int64_t>(random.below(300));
      break;
    default:
      if (place.is_string()) {
        // A name of something else.
        for (int tries = 0; tries < 20; ++tries)
          if (const Json &name = *all[random.below(all.size())]; name.is_string()) {
            place = std::string(name);
            break;
          }
      } else if (place.is_number_integer()) {
        place = int64_t{1} << random.below(40);
      } else {
        place = hostile(random);
      }
    }
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string damagedBytes(std::string bytes, Random &random) {
  for (uint64_t i = 0, count = 1 + random.below(8); i < count && !bytes.empty(); ++i) {
    uint64_t at = random.below(bytes.size());
    switch (random.below(4)) {
    case 0:
      bytes[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      bytes[at] ^= static_cast<char>(1 << random.below(8));
      break;
    case 2:
      bytes.erase(at, 1 + random.below(std::min<uint64_t>(16, bytes.size() - at)));
      break;
    default:
      bytes.insert(at, 1 + random.below(4), static_cast<char>(random.below(256)));
    }
  }
  return bytes;
}

void put(std::string &out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    out += static_cast<char>(value >> (8 * i) & 255);
}

} // namespace

std::string storedZip(const std::vector<std::pair<std::string, std::string>> &records) {
  std::string out, directory;
  for (const auto &[name, contents] : records) {
    auto crc = crc32_z(0, reinterpret_cast<const Bytef *>(contents.data()), contents.size());
    uint64_t start = out.size(), padding = (64 - (start + 30 + name.size() + 4) % 64) % 64;
    auto shared = [&](std::string &to, uint64_t extra) {
      put(to, 0, 2); // flags
      put(to, 0, 2); // stored
      put(to, 0, 4); // time
      put(to, crc, 4);
      put(to, contents.size(), 4);
      put(to, contents.size(), 4);
      put(to, name.size(), 2);
      put(to, extra, 2);
    };
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    shared(out, 4 + padding);
    out += name;
    put(out, 0x4246, 2);
    put(out, padding, 2);
    out.append(padding, 'Z');
    out += contents;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put(directory, 20, 2);
    shared(directory, 0);
    put(directory, 0, 2 + 2 + 2 + 4); // comment, volume, attributes
    put(directory, start, 4);
    directory += name;
  }
  uint64_t at = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, records.size(), 2);
  put(out, records.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);
  return out;
}

Status Mutations::add(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path, error))
      if (entry.path().extension() == ".pt2")
        found.push_back(entry.path().string());
    std::ranges::sort(found);
    for (const std::string &one : found)
      if (Status status = add(one); !status)
        return status;
    return {};
  }
  Result<tensor::SharedBytes> file = tensor::mapFile(path);
  if (!file)
    return file.error();
  auto text = [](const tensor::SharedBytes &bytes) {
    return std::string(reinterpret_cast<const char *>(bytes.bytes.data()), bytes.bytes.size());
  };
  File made{path, text(*file), {}};
  Result<std::vector<tensor::ZipEntry>> entries = tensor::readZip(*file);
  if (!entries)
    return entries.error().within(path);
  for (const tensor::ZipEntry &entry : *entries)
    made.records.push_back({entry.name, text(entry.contents)});
  files.push_back(std::move(made));
  return {};
}

std::string Mutations::describe(uint64_t seed, uint64_t number) const {
  Random random(seed, number);
  const File &file = files[random.below(files.size())];
  return file.path + ", " + nameOf(damageOf(random));
}

std::string Mutations::kind(uint64_t seed, uint64_t number) const {
  Random random(seed, number);
  random.below(files.size());
  return nameOf(damageOf(random));
}

std::string Mutations::make(uint64_t seed, uint64_t number) const {
  Random random(seed, number);
  const File &file = files[random.below(files.size())];
  Damage damage = damageOf(random);
  if (damage == Damage::Bytes)
    return damagedBytes(file.bytes, random);
  if (damage == Damage::Cut)
    return file.bytes.substr(0, random.below(file.bytes.size()));
  auto isWanted = [&](const Record &record) {
    switch (damage) {
    case Damage::JsonFields:
    case Damage::JsonText:
      return record.name.ends_with(".json") && !record.name.ends_with("_config.json");
    case Damage::Config:
      return record.name.ends_with("_config.json");
    case Damage::Pickle:
      return record.name.ends_with(".pt");
    default:
      return true;
    }
  };
  std::vector<size_t> candidates;
  for (size_t i = 0; i < file.records.size(); ++i)
    if (isWanted(file.records[i]))
      candidates.push_back(i);
  if (candidates.empty())
    return damagedBytes(file.bytes, random);
  size_t chosen = candidates[random.below(candidates.size())];
  std::vector<std::pair<std::string, std::string>> records;
  for (size_t i = 0; i < file.records.size(); ++i) {
    auto [name, contents] = file.records[i];
    if (i == chosen) {
      switch (damage) {
      case Damage::JsonFields:
      case Damage::Config:
        contents = damagedJson(contents, random);
        break;
      case Damage::JsonText:
        contents = damagedBytes(contents, random);
        break;
      case Damage::Pickle: {
        // The pickle in the zip in the zip, with both zips whole.
        std::string copy = contents;
        tensor::SharedBytes inner{{reinterpret_cast<const std::byte *>(copy.data()), copy.size()},
                                  nullptr};
        if (Result<std::vector<tensor::ZipEntry>> entries = tensor::readZip(inner)) {
          std::vector<std::pair<std::string, std::string>> parts;
          for (const tensor::ZipEntry &entry : *entries) {
            std::string bytes(reinterpret_cast<const char *>(entry.contents.bytes.data()),
                              entry.contents.bytes.size());
            parts.emplace_back(
                entry.name, entry.name.ends_with("data.pkl") ? damagedBytes(bytes, random) : bytes);
          }
          contents = storedZip(parts);
        }
        break;
      }
      default:
        if (random.below(2))
          continue;
        name = damagedBytes(name, random);
      }
    }
    records.emplace_back(name, contents);
  }
  return storedZip(records);
}

} // namespace cupel::torch_fuzz
