#include "cupel/ir/bytecode/Prepare.h"

#include "cupel/ir/bytecode/Rewrite.h"
#include "cupel/ir/bytecode/TextBooleans.h"
#include "cupel/ir/bytecode/TextFloats.h"
#include "cupel/ir/bytecode/TextGuard.h"
#include "cupel/ir/bytecode/TextLocations.h"

#include <algorithm>
#include <cstdlib>

using namespace cupel::bytecode;

void Prepared::Free::operator()(char *memory) const { std::free(memory); }

void Prepared::hold(Bytes bytes, uint64_t alignment) {
  alignment = std::max<uint64_t>(alignment, alignof(std::max_align_t));
  size_t size = (bytes.size() + 1 + alignment - 1) / alignment * alignment;
  copy.reset(static_cast<char *>(std::aligned_alloc(alignment, size)));
  if (!copy) {
    message = "not enough memory to hold the program (" + std::to_string(size) + " bytes)";
    return;
  }
  std::copy(bytes.begin(), bytes.end(), copy.get());
  copy.get()[bytes.size()] = 0;
  view = {copy.get(), bytes.size()};
}

Prepared cupel::bytecode::prepareForMlir(std::string_view program, const Limits &limits) {
  Prepared result;
  result.view = program;
  Bytes bytes(reinterpret_cast<const uint8_t *>(program.data()), program.size());
  result.bytecode = isBytecode(bytes);

  if (!result.bytecode) {
    TextProblem problem = checkText(program, limits);
    if (problem.found()) {
      result.message = std::move(problem.what);
      result.offset = problem.offset;
      result.line = problem.line;
      result.column = problem.column;
      return result;
    }
    std::optional<std::string> rewritten = pointLocations(program);
    if (auto packed = packBooleanLiterals(rewritten ? *rewritten : program))
      rewritten = std::move(packed);
    if (auto spelled = spellRareFloats(rewritten ? *rewritten : program))
      rewritten = std::move(spelled);
    if (rewritten)
      result.hold({reinterpret_cast<const uint8_t *>(rewritten->data()), rewritten->size()}, 1);
    return result;
  }

  auto refuse = [&](const Problem &problem) {
    result.message = "unreadable bytecode at " + problem.str();
    result.offset = problem.offset;
  };
  GuardResult guard = check(bytes, limits);
  if (!guard.ok()) {
    refuse(guard.problem);
    return result;
  }
  if (!guard.needsRewrite) {
    if (reinterpret_cast<uintptr_t>(program.data()) % guard.alignment != 0)
      result.hold(bytes, guard.alignment);
    return result;
  }
  Problem problem;
  std::vector<uint8_t> rewritten = rewriteForMlir19(bytes, limits, problem);
  if (!problem.found()) {
    // What we wrote ourselves must pass as well.
    GuardResult again = check(rewritten, limits);
    problem = again.problem;
    if (again.ok())
      result.hold(rewritten, again.alignment);
  }
  if (problem.found())
    refuse(problem);
  return result;
}
