// The chlo dialect, its enums and its attributes.

#ifndef CUPEL_IR_CHLO_ATTRS_TD
#define CUPEL_IR_CHLO_ATTRS_TD

include "cupel/ir/stablehlo/StablehloBase.td"

def ChloDialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::cupel::chlo";
  let summary = "Operations that frameworks write and stablehlo does not have";
  let description = [{
    Special functions, implicit broadcasting and a few structured operations. Every one of them has
    a decomposition to stablehlo (the pass `lower-chlo`). Text is read and printed exactly as the
    OpenXLA project's tools do.
  }];
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerOps();
  }];
}

//===----------------------------------------------------------------------===//
// Enums: the same names and numbers as stablehlo's.
//===----------------------------------------------------------------------===//

class ChloEnum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, "", cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::cupel::chlo";
}
class ChloEnumAttr<ChloEnum info, string mnemonic> : EnumAttr<ChloDialect, info, mnemonic>;

def Chlo_ComparisonDirection : ChloEnum<"ComparisonDirection", [
    I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
    I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Chlo_ComparisonDirectionAttr : ChloEnumAttr<Chlo_ComparisonDirection, "comparison_direction">;

def Chlo_ComparisonType : ChloEnum<"ComparisonType", [
    I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
    I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def Chlo_ComparisonTypeAttr : ChloEnumAttr<Chlo_ComparisonType, "comparison_type">;

def Chlo_Precision : ChloEnum<"Precision", [I32EnumAttrCase<"DEFAULT", 0>,
    I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def Chlo_PrecisionAttr : ChloEnumAttr<Chlo_Precision, "precision">;
def Chlo_PrecisionConfigAttr
    : TypedArrayAttrBase<Chlo_PrecisionAttr, "one precision for each operand">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Chlo_Dims : ArrayRefParameter<"int64_t", "dimensions">;

def Chlo_RaggedDotDimensionNumbers : AttrDef<ChloDialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let summary = "Which dimensions of a ragged dot are batching, contracting, ragged and grouped";
  let parameters = (ins
    Chlo_Dims:$lhsBatchingDimensions,
    Chlo_Dims:$rhsBatchingDimensions,
    Chlo_Dims:$lhsContractingDimensions,
    Chlo_Dims:$rhsContractingDimensions,
    Chlo_Dims:$lhsRaggedDimensions,
    Chlo_Dims:$rhsGroupDimensions
  );
  let hasCustomAssemblyFormat = 1;
}

#endif // CUPEL_IR_CHLO_ATTRS_TD
