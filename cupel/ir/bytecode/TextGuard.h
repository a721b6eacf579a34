// Decides whether MLIR 19's text parser can be trusted with a text: it recurses over brackets,
// affine expressions and attributes on the caller's stack, and a few numbers make it reserve memory
// without bound. Every reader of text in Cupel goes through this, by way of Prepare.h, and so do
// the attributes that bytecode holds as text. It judges no grammar.
#pragma once

#include "cupel/ir/bytecode/Limits.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel::bytecode {

struct TextProblem {
  size_t offset = 0;
  /// Line and column from 1 on.
  size_t line = 0, column = 0;
  std::string what;

  bool found() const { return !what.empty(); }
};

TextProblem checkText(std::string_view text, const Limits &limits = {});

} // namespace cupel::bytecode
