#include "cupel/reference/ElementProgram.h"

#include <algorithm>
#include <cstring>

namespace cupel::reference {

using tensor::DType;

int ElementProgram::addArgument(DType type) {
  registers.push_back({Register::Kind::Argument, type, static_cast<int>(arguments.size())});
  arguments.push_back(static_cast<int>(registers.size()) - 1);
  return arguments.back();
}

int ElementProgram::addCapture(DType type) {
  registers.push_back({Register::Kind::Capture, type, captureCount++});
  return static_cast<int>(registers.size()) - 1;
}

int ElementProgram::addConstant(DType type, const void *value) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), value, info(type).bytes);
  constants.push_back(bytes);
  registers.push_back({Register::Kind::Constant, type, static_cast<int>(constants.size()) - 1});
  return static_cast<int>(registers.size()) - 1;
}

std::optional<int> ElementProgram::addOperation(ElementOp op, std::span<const int> operands,
                                                DType result, int exponentBits, int mantissaBits) {
  std::optional<Loop> loop = Loop::find(op, registers[operands.back()].type, result);
  if (!loop)
    return std::nullopt;
  Instruction instruction{*loop,        op,          static_cast<int8_t>(operands.size()), {}, 0,
                          exponentBits, mantissaBits};
  std::ranges::copy(operands, instruction.operands);
  // Each register begins at a multiple of 16 bytes, whatever the number of lanes in a chunk (a
  // multiple of 16).
  registers.push_back({Register::Kind::Temporary, result, temporaryBytes});
  temporaryBytes += info(result).bytes;
  instruction.result = static_cast<int>(registers.size()) - 1;
  instructions.push_back(instruction);
  return instruction.result;
}

int ElementProgram::addBitcast(int source, DType type) {
  Register reg = registers[source];
  reg.type = type;
  registers.push_back(reg);
  return static_cast<int>(registers.size()) - 1;
}

std::optional<KnownFunction> ElementProgram::known() const {
  if (results.size() != 1)
    return std::nullopt;
  auto argument = [&](int reg) {
    return registers[reg].kind == Register::Kind::Argument ? registers[reg].index : -1;
  };
  if (instructions.empty() && arguments.size() == 2) {
    int index = argument(results[0]);
    if (index == 0)
      return KnownFunction::First;
    if (index == 1)
      return KnownFunction::Second;
  }
  if (instructions.size() != 1 || instructions[0].result != results[0] ||
      instructions[0].operandCount != 2)
    return std::nullopt;
  const Instruction &instruction = instructions[0];
  int a = argument(instruction.operands[0]), b = argument(instruction.operands[1]);
  if (std::min(a, b) != 0 || std::max(a, b) != 1)
    return std::nullopt;
  bool swapped = a == 1;
  switch (instruction.op) {
#define COMPARE(name, swappedName, known, knownTotal, knownSwapped, knownTotalSwapped)             \
  case ElementOp::name:                                                                            \
    return swapped ? KnownFunction::knownSwapped : KnownFunction::known;                           \
  case ElementOp::Total##name:                                                                     \
    return swapped ? KnownFunction::knownTotalSwapped : KnownFunction::knownTotal;
    COMPARE(Less, Greater, Less, LessTotal, Greater, GreaterTotal)
    COMPARE(Greater, Less, Greater, GreaterTotal, Less, LessTotal)
#undef COMPARE
  case ElementOp::LessEqual:
    return swapped ? KnownFunction::GreaterEqual : KnownFunction::LessEqual;
  case ElementOp::GreaterEqual:
    return swapped ? KnownFunction::LessEqual : KnownFunction::GreaterEqual;
  default:
    break;
  }
  // Accumulators and elements: with more than one pair the body is not one of these.
  if (arguments.size() != 2)
    return std::nullopt;
  switch (instruction.op) {
  case ElementOp::Add:
    return KnownFunction::Add;
  case ElementOp::Multiply:
    return KnownFunction::Multiply;
  case ElementOp::Minimum:
    return KnownFunction::Minimum;
  case ElementOp::Maximum:
    return KnownFunction::Maximum;
  case ElementOp::And:
    return KnownFunction::And;
  case ElementOp::Or:
    return KnownFunction::Or;
  case ElementOp::Xor:
    return KnownFunction::Xor;
  default:
    return std::nullopt;
  }
}

void ElementProgram::run(std::span<const void *const> argumentLanes,
                         std::span<const void *const> captures, std::span<void *const> resultLanes,
                         int64_t lanes) const {
  // All registers of a chunk should fit the first cache.
  constexpr int64_t kBytes = 24 << 10;
  int64_t chunk = 16;
  if (lanes > chunk)
    chunk = std::clamp<int64_t>(kBytes / std::max(temporaryBytes, 1) & ~15, 16, 1024);
  alignas(64) std::byte small[2048];
  std::byte *memory = small;
  std::vector<std::byte> large;
  if (temporaryBytes * chunk > static_cast<int64_t>(sizeof small)) {
    large.resize(temporaryBytes * chunk + 64);
    memory = reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(large.data()) + 63) &
                                           ~uintptr_t(63));
  }
  for (int64_t done = 0; done < lanes; done += chunk) {
    int64_t count = std::min(chunk, lanes - done);
    auto address = [&](int reg, bool &scalar) -> const void * {
      const Register &r = registers[reg];
      switch (r.kind) {
      case Register::Kind::Argument:
        return static_cast<const std::byte *>(argumentLanes[r.index]) + done * info(r.type).bytes;
      case Register::Kind::Constant:
        scalar = true;
        return constants[r.index].data();
      case Register::Kind::Capture:
        scalar = true;
        return captures[r.index];
      case Register::Kind::Temporary:
        return memory + r.index * chunk;
      }
      return nullptr;
    };
    for (const Instruction &instruction : instructions) {
      LoopArguments loop;
      loop.lanes = count;
      loop.exponentBits = instruction.exponentBits;
      loop.mantissaBits = instruction.mantissaBits;
      for (int i = 0; i < instruction.operandCount; ++i)
        loop.in[i] = address(instruction.operands[i], loop.scalar[i]);
      loop.out = memory + registers[instruction.result].index * chunk;
      instruction.loop.run(loop);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      int bytes = info(registers[results[i]].type).bytes;
      bool scalar = false;
      const void *source = address(results[i], scalar);
      std::byte *target = static_cast<std::byte *>(resultLanes[i]) + done * bytes;
      if (!scalar)
        std::memcpy(target, source, count * bytes);
      else
        for (int64_t lane = 0; lane < count; ++lane)
          std::memcpy(target + lane * bytes, source, bytes);
    }
  }
}

} // namespace cupel::reference
