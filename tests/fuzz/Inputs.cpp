#include "tests/fuzz/Inputs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace cupel::fuzz;

namespace {
/// Random numbers that are the same everywhere, unlike those of the standard distributions.
class Random {
public:
  Random(uint64_t seed, uint64_t stream) : engine(seed * 0x9E3779B97F4A7C15ull + stream) {
    engine.discard(1);
  }
  uint64_t below(uint64_t limit) { return limit ? engine() % limit : 0; }

private:
  std::mt19937_64 engine;
};

enum Stream : uint64_t {
  kCuts = 1ull << 40,
  kChanges = 2ull << 40,
  kTears = 3ull << 40,
  kTexts = 4ull << 40
};

std::string fileName(const CorpusFile &file) {
  return std::filesystem::path(file.path).filename().string();
}

/// Where tokens begin, coarsely: runs of letters and digits, or single characters.
std::vector<std::pair<size_t, size_t>> tokensOf(const std::string &text) {
  std::vector<std::pair<size_t, size_t>> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '.'))
      ++i;
    if (i == begin)
      ++i;
    if (text[begin] != ' ' && text[begin] != '\n')
      tokens.push_back({begin, i - begin});
  }
  return tokens;
}

std::string repeat(const std::string &piece, uint64_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (uint64_t i = 0; i < count; ++i)
    out += piece;
  return out;
}
} // namespace

Inputs::Inputs(std::vector<CorpusFile> corpus, const Amounts &amounts, uint64_t seed)
    : amounts(amounts), seed(seed) {
  for (CorpusFile &file : corpus)
    (file.bytecode ? bytecode : texts).push_back(std::move(file));
  for (const auto *files : {&bytecode, &texts})
    for (const CorpusFile &file : *files)
      whole.push_back(&file);
  for (uint32_t i = 0; i < bytecode.size(); ++i) {
    uint64_t size = bytecode[i].content.size();
    for (uint64_t length = 0; length < std::min(size, amounts.everyCut + 1);
         length += amounts.cutStep)
      cuts.push_back({i, length});
    Random random(seed, kCuts + i);
    for (uint64_t j = 0; size > amounts.everyCut + 1 && j < amounts.cutsBeyond; ++j)
      cuts.push_back({i, amounts.everyCut + 1 + random.below(size - amounts.everyCut - 1)});
  }
  changes = bytecode.empty() ? 0 : amounts.changes;
  tears = bytecode.empty() ? 0 : amounts.tears;
  textChanges = texts.empty() ? 0 : amounts.texts;
  total = whole.size() + cuts.size() + changes + tears + textChanges;
}

std::string Inputs::kind(uint64_t number) const {
  if (number < whole.size())
    return "whole file";
  number -= whole.size();
  if (number < cuts.size())
    return "cut";
  number -= cuts.size();
  return number < changes           ? "changed byte"
         : number < changes + tears ? "torn bytecode"
                                    : "mutated text";
}

Input Inputs::make(uint64_t number) const {
  if (number < whole.size())
    return {fileName(*whole[number]), whole[number]->content};
  number -= whole.size();
  if (number < cuts.size())
    return cut(number);
  number -= cuts.size();
  if (number < changes)
    return change(number);
  number -= changes;
  return number < tears ? tear(number) : text(number - tears);
}

Input Inputs::cut(uint64_t index) const {
  auto [file, length] = cuts[index];
  return {fileName(bytecode[file]) + " cut at " + std::to_string(length),
          bytecode[file].content.substr(0, length)};
}

Input Inputs::change(uint64_t index) const {
  Random random(seed, kChanges + index);
  const CorpusFile &file = bytecode[random.below(bytecode.size())];
  std::string content = file.content;
  uint64_t at = random.below(content.size());
  uint8_t old = content[at];
  content[at] = char(old + 1 + random.below(255));
  return {fileName(file) + " byte " + std::to_string(at) + " " + std::to_string(old) + " -> " +
              std::to_string(uint8_t(content[at])),
          std::move(content)};
}

Input Inputs::tear(uint64_t index) const {
  Random random(seed, kTears + index);
  const CorpusFile &file = bytecode[random.below(bytecode.size())];
  std::string content = file.content;
  uint64_t steps = 1 + random.below(4);
  for (uint64_t step = 0; step < steps && !content.empty(); ++step) {
    uint64_t at = random.below(content.size());
    uint64_t length = 1 + random.below(std::min<uint64_t>(16, content.size() - at));
    static constexpr uint8_t kEdges[] = {0x00, 0x01, 0x03, 0x05, 0x7F, 0x80, 0xFE, 0xFF};
    switch (random.below(6)) {
    case 0:
      content[at] = char(random.below(256));
      break;
    case 1:
      content[at] = char(kEdges[random.below(std::size(kEdges))]);
      break;
    case 2:
      // Neighbouring numbers: one index or count off.
      content[at] = char(content[at] + (random.below(2) ? 2 : -2));
      break;
    case 3:
      content.erase(at, length);
      break;
    case 4:
      content.insert(at, content.substr(at, length));
      break;
    case 5: {
      uint64_t from = random.below(content.size());
      std::string piece = content.substr(from, length);
      content.replace(at, piece.size(), piece);
      break;
    }
    }
  }
  return {fileName(file) + " torn, number " + std::to_string(index), std::move(content)};
}

Input Inputs::text(uint64_t index) const {
  Random random(seed, kTexts + index);
  const CorpusFile &file = texts[random.below(texts.size())];
  std::string content = file.content;
  uint64_t steps = 1 + random.below(3);
  for (uint64_t step = 0; step < steps && !content.empty(); ++step) {
    std::vector<std::pair<size_t, size_t>> tokens = tokensOf(content);
    if (tokens.empty())
      break;
    auto [at, length] = tokens[random.below(tokens.size())];
    auto [otherAt, otherLength] = tokens[random.below(tokens.size())];
    static const std::string kNumbers[] = {"0",
                                           "-1",
                                           "4294967295",
                                           "4294967296",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551616",
                                           "99999999999999999999999999"};
    static const std::string kNests[] = {"[",  "(",    "{",        "<", "tuple<", "tensor<",
                                         "({", "loc(", "complex<", "-", "[["};
    switch (random.below(9)) {
    case 0:
      content[random.below(content.size())] = char(random.below(256));
      break;
    case 1:
      content.erase(at, length);
      break;
    case 2:
      content.insert(at, content.substr(at, length) + " ");
      break;
    case 3: {
      std::string piece = content.substr(otherAt, otherLength);
      content.replace(at, length, piece);
      break;
    }
    case 4: {
      // Swaps the two.
      std::string first = content.substr(at, length), second = content.substr(otherAt, otherLength);
      if (at > otherAt) {
        content.replace(at, length, second);
        content.replace(otherAt, otherLength, first);
      } else if (at < otherAt) {
        content.replace(otherAt, otherLength, first);
        content.replace(at, length, second);
      }
      break;
    }
    case 5:
      content.insert(at, repeat(kNests[random.below(std::size(kNests))],
                                1 + random.below(random.below(4) ? 40 : 20000)));
      break;
    case 6: {
      // The next number from there on.
      size_t digit = content.find_first_of("0123456789", at);
      if (digit == std::string::npos)
        break;
      size_t end = content.find_first_not_of("0123456789", digit);
      content.replace(digit, (end == std::string::npos ? content.size() : end) - digit,
                      kNumbers[random.below(std::size(kNumbers))]);
      break;
    }
    case 7: {
      // A piece of another program.
      const std::string &other = texts[random.below(texts.size())].content;
      uint64_t from = random.below(other.size());
      content.insert(at, other.substr(from, random.below(200)));
      break;
    }
    case 8:
      content.resize(random.below(content.size()));
      break;
    }
  }
  return {fileName(file) + " mutated, number " + std::to_string(index), std::move(content)};
}

std::vector<CorpusFile> cupel::fuzz::readCorpus(const std::vector<std::string> &folders,
                                                uint64_t largest) {
  std::vector<CorpusFile> corpus;
  for (const std::string &folder : folders) {
    std::error_code error;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      std::string path = entry.path().string();
      bool bytecode = path.ends_with(".mlir.bc");
      if ((!bytecode && !path.ends_with(".mlir")) || !entry.is_regular_file() ||
          entry.file_size() > largest)
        continue;
      std::ifstream stream(path, std::ios::binary);
      std::string content{std::istreambuf_iterator<char>(stream), {}};
      if (!content.empty())
        corpus.push_back({path, std::move(content), bytecode});
    }
  }
  std::sort(corpus.begin(), corpus.end(),
            [](const auto &a, const auto &b) { return a.path < b.path; });
  return corpus;
}
