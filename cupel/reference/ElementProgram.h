// A straight-line program on scalars that runs over many lanes at a time: registers hold chunks of
// lanes, instructions are the loops of Loops.h. Knows nothing of MLIR; the plan compiles regions to
// this.

#pragma once

#include "cupel/reference/ElementFunction.h"
#include "cupel/reference/Loops.h"

#include <array>
#include <vector>

namespace cupel::reference {

class ElementProgram {
public:
  /// A value: an argument, a constant, a captured scalar or what an instruction computed.
  struct Register {
    enum class Kind : uint8_t { Argument, Constant, Capture, Temporary } kind;
    tensor::DType type;
    int index; // Of its kind; of temporaries the offset in bytes per lane.
  };

  int addArgument(tensor::DType type);
  int addCapture(tensor::DType type);
  int addConstant(tensor::DType type, const void *value);
  /// The result's register; nothing if the operation is not defined on the types.
  std::optional<int> addOperation(ElementOp op, std::span<const int> operands, tensor::DType result,
                                  int exponentBits = 0, int mantissaBits = 0);
  /// The bits of a register as another type of the same size.
  int addBitcast(int source, tensor::DType type);
  void addResult(int reg) { results.push_back(reg); }

  size_t size() const { return instructions.size(); }
  size_t argumentCount() const { return arguments.size(); }
  const Register &operator[](int reg) const { return registers[reg]; }

  /// Recognises the bodies that kernels have loops of their own for.
  std::optional<KnownFunction> known() const;

  void run(std::span<const void *const> argumentLanes, std::span<const void *const> captures,
           std::span<void *const> resultLanes, int64_t lanes) const;

private:
  struct Instruction {
    Loop loop;
    ElementOp op;
    int8_t operandCount;
    int operands[3];
    int result;
    int exponentBits, mantissaBits;
  };

  std::vector<Register> registers;
  std::vector<int> arguments;
  std::vector<std::array<std::byte, 16>> constants;
  std::vector<Instruction> instructions;
  std::vector<int> results;
  int captureCount = 0;
  int temporaryBytes = 0; // Per lane.
};

} // namespace cupel::reference
