#include "cupel/ir/bytecode/Guard.h"

#include "cupel/ir/bytecode/IrCheck.h"

using namespace cupel::bytecode;

GuardResult cupel::bytecode::check(Bytes file, const Limits &limits) {
  GuardResult result;
  Container container;
  Tables tables;
  if (!readContainer(file, limits, container, result.problem) ||
      !readTables(file, container, limits, tables, result.problem))
    return result;
  Entries entries(file, tables, limits, result.problem);
  if (!entries.check() || !checkIr(file, container, tables, entries, limits, result.problem))
    return result;
  result.needsRewrite = entries.needsRewrite();
  result.alignment = container.alignment;
  return result;
}
