// The sdy dialect itself and its enumerations.

#ifndef CUPEL_IR_SDY_SDYBASE_TD
#define CUPEL_IR_SDY_SDYBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::cupel::sdy";
  let summary = "Shardy: meshes of named axes and how tensors are split over them";
  let description = [{
    The part of the Shardy dialect that programs carry: meshes, shardings, and the ops that attach
    them. Nothing here partitions a program; on one device every op of this dialect is the identity.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The names under which attributes of this dialect hang on foreign ops.
    static constexpr ::llvm::StringLiteral kShardingAttrName = "sdy.sharding";
    static constexpr ::llvm::StringLiteral kShardingRuleAttrName = "sdy.sharding_rule";
  private:
    void registerAttributes();
    void addBytecodeInterface();
  public:
  }];
}

class Sdy_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::cupel::sdy";
}

def Sdy_PropagationDirection : Sdy_Enum<"PropagationDirection", "propagation direction enum", [
  I32EnumAttrCase<"None", 0, "NONE">,
  I32EnumAttrCase<"Forward", 1, "FORWARD">,
  I32EnumAttrCase<"Backward", 2, "BACKWARD">,
  I32EnumAttrCase<"Both", 3, "BOTH">
]>;

def Sdy_ReductionOp : Sdy_Enum<"ReductionOp", "reduction op enum", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">
]>;

#endif // CUPEL_IR_SDY_SDYBASE_TD
