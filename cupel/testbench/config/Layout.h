// How a configuration file is laid out: values as text in the style that stood there before, and
// the lines that a key and its value take up. The editor cuts and inserts by it. It decides where
// bytes go, never whether a change is right.
#pragma once

#include "cupel/testbench/config/Fields.h"
#include "cupel/testbench/config/Yaml.h"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::testbench::config {

/// Whether a text has no line breaks or control characters.
bool isOneLine(std::string_view text);

/// Text in the quotes that stood there before, where it can have them; plain where it can be.
std::string renderText(std::string_view text, std::optional<YamlNode::Style> before = std::nullopt);

/// A field's value; `old`, a node of `source`, is what stood there before, if anything.
std::string renderValue(const FieldInfo &field, const FieldValue &value, std::string_view source,
                        const YamlNode *old = nullptr);

/// Where the line of `at` begins.
size_t lineStart(std::string_view text, size_t at);
/// Behind the newline that ends the line of `at`, or the end of the text.
size_t lineEnd(std::string_view text, size_t at);
/// Whether the line that begins at `start` has nothing but blanks.
bool isBlank(std::string_view text, size_t start);
/// What the file ends its lines with.
std::string newlineOf(std::string_view text);
/// The blanks before a key that begins its line; nothing if it does not.
std::optional<std::string> indentOf(std::string_view text, const YamlNode &key);
/// Behind the last line of a pair.
size_t pairEnd(std::string_view text, const YamlNode &key, const YamlNode &value);
/// Behind the comments that follow at `at` and are indented further than `indent`: they belong to
/// what stands above them.
size_t skipDeeperComments(std::string_view text, size_t at, size_t indent);
/// Lines to be put at `at`, the start of a line or the end of the text; a file that ends without a
/// newline goes on doing so.
std::string asInsertion(std::string_view text, size_t at, std::string lines,
                        const std::string &newline);

} // namespace cupel::testbench::config
