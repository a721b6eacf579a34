// The smallest edits of a model loader that procedures may make: a dtype for one constructor, one
// cast, one more input, another batch size, one handler of an output. Each works on the text of a
// loader through its syntax tree and gives the new text; everything else stays as it is, byte by
// byte. Where the place cannot be found for certain, there is no edit.
#pragma once

#include "cupel/testbench/procedures/CpuRun.h"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::testbench::procedures {

struct LoaderFix {
  std::string text;  ///< The whole file.
  uint32_t line = 0; ///< Where it changed, from 1.
  std::string what;  ///< `mask = torch.zeros((1, 1), dtype=dtype_override)`
};

/// Gives the constructor that makes this input (or the stray buffer of the model) the requested
/// dtype, or casts what a helper gave. `name` is its key, `position` its place in a sequence; where
/// it is the only input, both are empty. The error says why there is no place for it.
Result<LoaderFix> honourDtype(std::string_view loader, std::string_view name,
                              std::optional<size_t> position, bool isOfModel);

/// Adds an input by its name, as an expression; `{first}` in it stands for the first input. What
/// returns a tensor or a sequence returns a mapping then, by the names of the model's parameters.
Result<LoaderFix> addInput(std::string_view loader, std::string_view name,
                           std::string_view expression, const std::vector<std::string> &signature);

/// A default batch of two, or one repetition of the only input.
Result<LoaderFix> doubleBatch(std::string_view loader, size_t rank);

/// Adds `unpack_forward_output` to ModelLoader: `expression` of `forward_output`, with what the
/// output is and what is selected.
Result<LoaderFix> addUnpack(std::string_view loader, std::string_view expression,
                            std::string_view structure, std::string_view selected);
/// Whether the loader has its own.
bool hasOwnUnpack(std::string_view loader);

/// Of the file that registers handlers by class (`_register_attr("Class", "attribute")`): adds one
/// in the order of names, or takes one out.
Result<LoaderFix> registerOutput(std::string_view registry, std::string_view className,
                                 std::string_view attribute);
Result<LoaderFix> unregisterOutput(std::string_view registry, std::string_view className);
/// The attribute that is registered; nothing: none is.
std::optional<std::string> registeredAttribute(std::string_view registry,
                                               std::string_view className);

} // namespace cupel::testbench::procedures
