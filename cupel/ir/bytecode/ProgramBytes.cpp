#include "cupel/ir/bytecode/ProgramBytes.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::ir {
namespace {

constexpr std::string_view kBytecodeMagic = "ML\xefR";

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr Signature kKnownFormats[] = {
    {"\x7f"
     "ELF",
     "an ELF binary"},
    {"PK\x03\x04", "a zip archive"},
    {"\x1f\x8b", "gzip-compressed data"},
    {"BC\xc0\xde", "LLVM bitcode"},
    {"\x28\xb5\x2f\xfd", "zstd-compressed data"},
    {"\x89PNG", "a PNG image"},
    {"%PDF", "a PDF document"},
    {"\x93NUMPY", "a NumPy array"},
    {"\xef\xbb\xbf", "text with a byte order mark, which MLIR does not read"},
    {"\xff\xfe", "UTF-16 text, where MLIR wants UTF-8"},
    {"\xfe\xff", "UTF-16 text, where MLIR wants UTF-8"},
};

/// Control characters other than white space do not occur in text.
bool isBinaryByte(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v';
}

std::string firstBytes(std::string_view bytes) {
  std::string text;
  for (char c : bytes.substr(0, 4))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  return text;
}

} // namespace

bool isBytecode(std::string_view bytes) { return bytes.starts_with(kBytecodeMagic); }

Status checkIsProgram(const std::string &name, std::string_view bytes) {
  if (bytes.empty())
    return Error{name + ": is empty"};
  if (isBytecode(bytes))
    return {};
  if (bytes == kBytecodeMagic.substr(0, 3))
    return Error{name + ": ends inside the first word of MLIR bytecode"};
  for (const Signature &format : kKnownFormats)
    if (bytes.starts_with(format.bytes))
      return Error{fmt::format("{}: not an MLIR program: this is {}", name, format.meaning)};
  std::string_view head = bytes.substr(0, 4096);
  if (std::any_of(head.begin(), head.end(), isBinaryByte))
    return Error{fmt::format("{}: not an MLIR program: neither text nor MLIR bytecode (it starts "
                             "with the bytes {})",
                             name, firstBytes(bytes))};
  return {};
}

std::vector<std::string> splitPrograms(std::string_view text) {
  std::vector<std::string> programs(1);
  size_t line = 0;
  while (!text.empty()) {
    size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    ++line;
    // Anywhere in a line, as MLIR's tools split; what follows it is still a comment.
    size_t separator = text.substr(0, length).find(kProgramSeparator);
    programs.back().append(text.substr(0, std::min(separator, length)));
    if (separator != std::string_view::npos)
      programs.emplace_back(line, '\n');
    text.remove_prefix(length);
  }
  return programs;
}

std::string programStem(const std::string &path) {
  for (std::string_view ending : {".mlir.bc", ".mlirbc", ".mlir", ".bc", ".onnx", ".pt2"})
    if (path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path;
}

} // namespace cupel::ir
