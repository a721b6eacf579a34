// Which operations of a program may be wrong without a result telling it, where some results tell
// nothing of what computed them (rounding decides them). What such a result is made of is judged by
// another one only if that other one is a plain function of the same value: a quotient in which a
// factor cancels, a comparison or a sum with something larger is right whatever the value was.
#pragma once

#include "cupel/compiler/passes/CutIntoPieces.h"

#include <vector>

namespace cupel::compiler {

/// Of each of countedOperations(entry, counts), whether it makes something of which only results
/// speak that tell nothing (`tells` has an entry a result; empty: all do). From such a result it is
/// gone back to the first values that a telling result shows: what is wrong behind these is seen in
/// it, and what is not seen in them has no part in the other. `entry` is one list (makeOneList).
///
/// A telling result shows a value that it is made of by moves that keep every element, by factors
/// that are constants, and by products and convolutions with what does not depend on the value.
///
/// What moves, converts or sums up values that are shown is not counted: the gradient of a bias that
/// is zero but for roundings is such a sum, and what a device gives there within its limits is as right as
/// any other roundings.
std::vector<bool> operationsThatHide(mlir::func::FuncOp entry, const std::vector<bool> &tells,
                                     Counts counts = Counts::WhatIsNotMoved);

} // namespace cupel::compiler
