// A YAML file as a tree of nodes that know where they stand: values decoded, spans in bytes, places
// in lines and columns. The loader reads it and the editor cuts by its spans. It takes the part of
// YAML that a configuration needs (no aliases, no tags) and refuses files that are too large or too
// deep before they cost anything.
#pragma once

#include "cupel/testbench/config/Diagnostic.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::config {

struct YamlNode {
  enum class Kind : uint8_t { Scalar, Sequence, Mapping };
  enum class Style : uint8_t { Plain, SingleQuoted, DoubleQuoted, Literal, Folded, Block, Flow };

  Kind kind = Kind::Scalar;
  Style style = Style::Plain;
  uint32_t line = 0, column = 0;
  /// The node's own bytes, with quotes and brackets. Of a block collection: from its first item to
  /// the end of its last. Of an absent value: the place after its key's colon, empty.
  uint32_t begin = 0, end = 0;
  std::string_view text; ///< Of a scalar, decoded.
  /// Items of a sequence; of a mapping key, value, key, value.
  std::vector<YamlNode> items;

  bool isScalar() const { return kind == Kind::Scalar; }
  bool isMapping() const { return kind == Kind::Mapping; }
  bool isSequence() const { return kind == Kind::Sequence; }
  bool isPlain() const { return isScalar() && style == Style::Plain; }
  /// By the core schema: nothing, `~`, `null`.
  bool isNull() const;
  /// The items of a sequence; anything else is a list of itself.
  std::span<const YamlNode> oneOrMany() const { return isSequence() ? std::span(items) : std::span(this, 1); }
  size_t pairCount() const { return items.size() / 2; }
  const YamlNode &key(size_t i) const { return items[2 * i]; }
  const YamlNode &value(size_t i) const { return items[2 * i + 1]; }
  /// The value of the last pair with this key.
  const YamlNode *find(std::string_view key) const;
};

// What a plain scalar means by the core schema of YAML 1.2; nothing for quoted ones and others.
std::optional<bool> asBool(const YamlNode &node);
std::optional<int64_t> asInteger(const YamlNode &node);
/// Integers too.
std::optional<double> asNumber(const YamlNode &node);
/// Text: quoted, or plain and none of the above nor null.
std::optional<std::string_view> asText(const YamlNode &node);
/// How messages name what stands there: "the text \"abc\"", "a list", "true", "nothing".
std::string describe(const YamlNode &node);

/// Owns the text of a file and the tree over it. The views stay valid when it is moved.
class YamlFile {
public:
  static constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
  static constexpr uint32_t kMaxDepth = 32;
  static constexpr uint32_t kMaxScalarBytes = uint32_t{1} << 20;
  static constexpr uint32_t kMaxNodes = uint32_t{1} << 20;

  /// Parses; what is wrong is appended to `diagnostics`, and then the tree is empty.
  YamlFile(std::string path, std::string bytes, std::vector<Diagnostic> &diagnostics);
  YamlFile(YamlFile &&) noexcept = default;
  YamlFile &operator=(YamlFile &&) noexcept = default;

  const std::string &path() const { return name; }
  std::string_view bytes() const { return *contents; }
  /// Null if the file was wrong or empty.
  const YamlNode *root() const { return hasRoot ? &tree : nullptr; }

private:
  void parse(std::vector<Diagnostic> &diagnostics);

  std::string name;
  std::unique_ptr<const std::string> contents; ///< Behind a pointer: views must survive moves.
  std::deque<std::string> decoded;             ///< Scalars that are not literally in the file.
  YamlNode tree;
  bool hasRoot = false;
};

} // namespace cupel::testbench::config
