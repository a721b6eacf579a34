#include "cupel/ir/check/Check.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cupel::check;

#include "cupel/ir/check/CheckDialect.cpp.inc"

#define GET_OP_CLASSES
#include "cupel/ir/check/CheckOps.cpp.inc"

void CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "cupel/ir/check/CheckOps.cpp.inc"
      >();
}

//===--------------------------------------------------------------------------------------------===//
// expect_close
//===--------------------------------------------------------------------------------------------===//

// `%actual, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : type, type`. The text
// always gives the maximum, although the attribute has a default.

static ParseResult parseBound(OpAsmParser &parser, StringRef name, IntegerAttr &attribute) {
  Type type = IntegerType::get(parser.getContext(), 64, IntegerType::Unsigned);
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseAttribute(attribute, type));
}

ParseResult ExpectCloseOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand operands[2];
  Type types[2];
  auto &properties = result.getOrAddProperties<Properties>();
  if (parser.parseOperand(operands[0]) || parser.parseComma() || parser.parseOperand(operands[1]) ||
      parser.parseComma() ||
      parseBound(parser, "max_ulp_difference", properties.max_ulp_difference))
    return failure();
  if (succeeded(parser.parseOptionalComma()) &&
      parseBound(parser, "min_ulp_difference", properties.min_ulp_difference))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(types[0]) ||
      parser.parseComma() || parser.parseType(types[1]))
    return failure();
  for (int i = 0; i < 2; ++i)
    if (parser.resolveOperand(operands[i], types[i], result.operands))
      return failure();
  return success();
}

void ExpectCloseOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getActual() << ", " << getExpected()
          << ", max_ulp_difference = " << getMaxUlpDifference();
  if (getMinUlpDifference() != 0)
    printer << ", min_ulp_difference = " << getMinUlpDifference();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getMaxUlpDifferenceAttrName(), getMinUlpDifferenceAttrName()});
  printer << " : " << getActual().getType() << ", " << getExpected().getType();
}

LogicalResult ExpectCloseOp::verify() {
  if (getMinUlpDifference() > getMaxUlpDifference())
    return emitOpError() << "can never hold: min_ulp_difference " << getMinUlpDifference()
                         << " is above max_ulp_difference " << getMaxUlpDifference();
  return success();
}
