// What the readers of operator cases say of a file, each with its place and, where a word is wrong, with
// the nearest one that is right; and the few things that both of them read.
#pragma once

#include "cupel/testbench/opcases/Case.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::opcases {

using Words = std::vector<std::string_view>;

class Complaints {
public:
  /// Both must outlive this.
  Complaints(const config::YamlFile &yaml, CaseFile &out) : yaml(yaml), out(out) {}

  const std::string &path() const { return yaml.path(); }
  /// Where there is no place, of the beginning of the file.
  void complain(const config::YamlNode *at, std::string message);
  /// A problem inside a plain one-line text stands where its byte stands.
  void complainInside(const config::YamlNode &at, const LiteralError &error, std::string_view what);
  /// Complains of every key that is not meant to be there.
  bool checkKeys(const config::YamlNode &mapping, const Words &known, std::string_view what);
  /// A dtype by any of its names; the default one behind a complaint.
  std::string readDType(const config::YamlNode &node);

  /// A sentence about a word that is none of those known.
  static std::string unknown(std::string_view what, std::string_view word, const Words &words);
  /// A scalar's text, whatever it means.
  static std::optional<std::string> plainText(const config::YamlNode &node);

protected:
  const config::YamlFile &yaml;
  CaseFile &out;
};

} // namespace cupel::testbench::opcases
