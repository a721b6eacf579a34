// The custom text of vhlo.func_v1:
//   vhlo.func_v1 @name(%arg0: type) -> (type) { ... } {arg_attrs = ..., res_attrs = ..., ...}
// A declaration, which has no body, is written in the generic form.

#include "cupel/ir/vhlo/OpModel.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace cupel::vhlo;

ParseResult cupel::vhlo::parseFunc(OpAsmParser &parser, OperationState &state) {
  MLIRContext *context = parser.getContext();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  if (parser.parseSymbolName(name) ||
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true))
    return failure();
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        return parser.parseType(resultTypes.emplace_back());
      }))
    return failure();
  SmallVector<Type> argumentTypes;
  for (const OpAsmParser::Argument &argument : arguments)
    argumentTypes.push_back(argument.type);

  if (parser.parseRegion(*state.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("sym_name", StringV1Attr::get(context, name.getValue()));
  state.addAttribute(
      "function_type",
      TypeV1Attr::get(context, FunctionV1Type::get(context, argumentTypes, resultTypes)));
  return success();
}

void cupel::vhlo::printFunc(Operation *op, OpAsmPrinter &printer) {
  auto function = llvm::cast<FunctionV1Type>(
      llvm::cast<TypeV1Attr>(attributeOf(op, "function_type")).getValue());
  printer << op->getName() << ' ';
  printer.printSymbolName(llvm::cast<StringV1Attr>(attributeOf(op, "sym_name")).getValue());

  Region &body = op->getRegion(0);
  printer << '(';
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") -> (";
  llvm::interleaveComma(function.getOutputs(), printer);
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict(op->getAttrs(), {"sym_name", "function_type"});
}
