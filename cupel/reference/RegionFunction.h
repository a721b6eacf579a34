// Regions on scalars as ElementFunctions: compiled to a short program over lanes where all of it is
// elementwise, else run step by step. Made by the plan, bound to a process when a kernel needs it.

#pragma once

#include "cupel/reference/ElementProgram.h"
#include "cupel/reference/Plan.h"

namespace cupel::reference {

class RegionFunction {
public:
  RegionFunction(std::optional<ElementProgram> program, const BlockPlan *block,
                 std::vector<tensor::ElementType> arguments,
                 std::vector<tensor::ElementType> results, std::vector<int> captures)
      : program(std::move(program)), block(block), arguments(std::move(arguments)),
        results(std::move(results)), captures(std::move(captures)) {}

  std::span<const tensor::ElementType> argumentTypes() const { return arguments; }
  std::span<const tensor::ElementType> resultTypes() const { return results; }

  /// The function with what it captures from the frame. Lives no longer than the three.
  std::unique_ptr<ElementFunction> bind(GridProcess &process, Frame &frame) const;

private:
  std::optional<ElementProgram> program;
  const BlockPlan *block; // Where there is no program.
  std::vector<tensor::ElementType> arguments, results;
  std::vector<int> captures; // Slots of scalars of the frame, in the order of the program.
};

} // namespace cupel::reference
