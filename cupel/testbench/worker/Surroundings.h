// Puts a part of a program back into what it stood in: a loop, a branch, a function that is called,
// or a program that may overwrite its arguments. Some devices are wrong only there. Used by whoever
// looks for the operation to blame, where an operation is right once it stands in the open. What a
// part computes is never changed.
#pragma once

#include "cupel/testbench/worker/Blame.h"

namespace cupel::testbench::worker {

enum class Surrounding : uint8_t { Call, Loop, If, Case, DonatedArguments };

/// For people: "in a loop".
std::string_view name(Surrounding surrounding);

/// A program without operations that gives what it is given: the results that a test expects, or one
/// of them.
Result<Prepared> handsOn(const Prepared &test, std::optional<size_t> only);

/// The same program with all of its operations there. An error where it cannot be put there.
Result<Prepared> placedIn(const Prepared &program, Surrounding surrounding);

/// The same seams that put everything there before they try it.
BlameSeams placing(const BlameSeams &seams, Surrounding surrounding);

/// Of a test that fails there and not in the open: which operations are to blame. False where it
/// does not fail there either, or nothing can be said; `blame` is as it was then.
Result<bool> findBlameIn(Surrounding surrounding, const Prepared &test, const BlameSeams &seams,
                         uint32_t count, Blame &blame);

} // namespace cupel::testbench::worker
