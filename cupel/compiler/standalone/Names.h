// Identifiers of generated code: made from whatever a program calls things, unique in a function, and
// never a word of Python or C++ or the name of a function that generated code calls.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace cupel::compiler::standalone {

/// Letters, digits and underscores of a name, shortened if it is long; `fallback` if nothing is left.
std::string identifierOf(llvm::StringRef name, llvm::StringRef fallback);

bool isReserved(llvm::StringRef name);

class NameScope {
public:
  /// The name itself where it is free, else with a number behind it.
  std::string unique(llvm::StringRef wanted);
  /// Always with a number, counted by name: add_1, add_2.
  std::string numbered(llvm::StringRef stem);

private:
  llvm::StringSet<> used;
  llvm::StringMap<unsigned> counts;
};

/// Text between double quotes, escaped as both languages understand it.
std::string quotedText(llvm::StringRef text);

} // namespace cupel::compiler::standalone
