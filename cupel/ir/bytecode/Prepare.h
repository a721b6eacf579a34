// The one door to MLIR's readers: every program, whether bytecode, portable artifact or text, goes
// through prepareForMlir before MLIR 19 sees it. It refuses what would crash MLIR and rewrites what
// MLIR 19 does not know.
#pragma once

#include "cupel/ir/bytecode/Guard.h"

#include <memory>

namespace cupel::bytecode {

/// A program that MLIR can be given, or why not.
class Prepared {
public:
  /// What to give to MLIR: the input itself, or `Prepared`'s own copy. It is followed by a zero
  /// byte (which MLIR's text parser relies on) if it is a copy or if the input was, and aligned as
  /// MLIR demands.
  std::string_view text() const { return view; }
  bool isBytecode() const { return bytecode; }
  /// Whether `text()` is a copy, which lives as long as this object.
  bool isCopy() const { return copy != nullptr; }

  bool ok() const { return message.empty(); }
  /// What was wrong and where, in one line.
  const std::string &error() const { return message; }
  /// Byte offset of the error; line and column where the program is text, else zero.
  size_t offset = 0, line = 0, column = 0;

private:
  friend Prepared prepareForMlir(std::string_view, const Limits &);
  struct Free {
    void operator()(char *memory) const;
  };
  void hold(Bytes bytes, uint64_t alignment);

  std::unique_ptr<char, Free> copy;
  std::string_view view;
  std::string message;
  bool bytecode = false;
};

Prepared prepareForMlir(std::string_view program, const Limits &limits = {});

} // namespace cupel::bytecode
