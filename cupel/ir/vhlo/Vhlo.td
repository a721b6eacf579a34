// The storage of vhlo types and attributes. What has no parameters shares one class (ScalarV1Type,
// EnumV1Attr) and is told apart by its code in the tables of Tables.h; text and bytecode are written
// by hand from those tables, so no definition here has a mnemonic.

#ifndef CUPEL_IR_VHLO_TD
#define CUPEL_IR_VHLO_TD

include "mlir/IR/AttrTypeBase.td"

def VhloDialect : Dialect {
  let name = "vhlo";
  let cppNamespace = "::cupel::vhlo";
  let summary = "The versioned form of stablehlo that portable artifacts are written in";
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 0;
  let extraClassDeclaration = [{
    mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser, mlir::Type type) const override;
    void printAttribute(mlir::Attribute attr, mlir::DialectAsmPrinter &printer) const override;
    mlir::Type parseType(mlir::DialectAsmParser &parser) const override;
    void printType(mlir::Type type, mlir::DialectAsmPrinter &printer) const override;

    /// The table entry of a registered operation of this dialect; null for all others.
    static const OpInfo *infoOf(mlir::OperationName name);

  private:
    void registerTypesAndAttributes();
    void registerOps();
    mlir::TypeIDAllocator typeIds;
    llvm::DenseMap<mlir::TypeID, const OpInfo *> infoByTypeId;
  public:
  }];
}

class Vhlo_Type<string name> : TypeDef<VhloDialect, name> {
  let typeName = "vhlo." # name;
}
class Vhlo_Attr<string name> : AttrDef<VhloDialect, name> {
  let attrName = "vhlo." # name;
}

// A floating-point number compared by its bits, so that storage keys with NaN are found again.
def Vhlo_Float64 : AttrOrTypeParameter<"::llvm::APFloat", "64-bit float"> {
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
}

def Vhlo_ScalarType : Vhlo_Type<"ScalarV1"> {
  let summary = "a type without parameters: bool, integers, floats, index, token, none, witness";
  let parameters = (ins "::cupel::vhlo::TypeCode":$code);
}
def Vhlo_WrapperType : Vhlo_Type<"WrapperV1"> {
  let summary = "complex and unranked tensor types";
  let parameters = (ins "::cupel::vhlo::TypeCode":$code, "::mlir::Type":$element);
}
def Vhlo_ListType : Vhlo_Type<"ListV1"> {
  let summary = "tuple and future types";
  let parameters = (ins "::cupel::vhlo::TypeCode":$code, ArrayRefParameter<"::mlir::Type">:$types);
}
def Vhlo_RankedType : Vhlo_Type<"RankedV1"> {
  let summary = "ranked tensor and buffer types; dynamic sizes are mlir::ShapedType::kDynamic";
  let parameters = (ins "::cupel::vhlo::TypeCode":$code, ArrayRefParameter<"int64_t">:$shape,
                    "::mlir::Type":$element, OptionalParameter<"::mlir::Attribute">:$encoding);
}
def Vhlo_FunctionType : Vhlo_Type<"FunctionV1"> {
  let summary = "the type of a function";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$inputs,
                    ArrayRefParameter<"::mlir::Type">:$outputs);
}
def Vhlo_QuantizedType : Vhlo_Type<"QuantizedV1"> {
  let summary = "a type quantized per tensor";
  let parameters = (ins "unsigned":$flags, "::mlir::Type":$storage, "::mlir::Type":$expressed,
                    Vhlo_Float64:$scale, "int64_t":$zeroPoint, "int64_t":$storageMin,
                    "int64_t":$storageMax);
}
def Vhlo_QuantizedPerAxisType : Vhlo_Type<"QuantizedPerAxisV1"> {
  let summary = "a type quantized per slice of one dimension";
  let parameters = (ins "unsigned":$flags, "::mlir::Type":$storage, "::mlir::Type":$expressed,
                    "int64_t":$dimension, ArrayRefParameter<"::llvm::APFloat">:$scales,
                    ArrayRefParameter<"int64_t">:$zeroPoints, "int64_t":$storageMin,
                    "int64_t":$storageMax);
}

def Vhlo_EnumAttr : Vhlo_Attr<"EnumV1"> {
  let summary = "a value of one of the enumerations of Tables.h";
  let parameters = (ins "::cupel::vhlo::AttrCode":$code, "unsigned":$value);
}
def Vhlo_ArrayAttr : Vhlo_Attr<"ArrayV1"> {
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$value);
}
def Vhlo_BooleanAttr : Vhlo_Attr<"BooleanV1"> {
  let parameters = (ins "bool":$value);
}
def Vhlo_DictionaryAttr : Vhlo_Attr<"DictionaryV1"> {
  let summary = "pairs of name (a StringAttr of this dialect) and value";
  let parameters = (ins ArrayRefParameter<"std::pair<::mlir::Attribute, ::mlir::Attribute>">:$value);
}
def Vhlo_FloatAttr : Vhlo_Attr<"FloatV1"> {
  let parameters = (ins "::mlir::Type":$type, Vhlo_Float64:$value);
}
def Vhlo_IntegerAttr : Vhlo_Attr<"IntegerV1"> {
  let parameters = (ins "::mlir::Type":$type, "::llvm::APInt":$value);
}
def Vhlo_OutputOperandAliasAttr : Vhlo_Attr<"OutputOperandAliasV1"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$outputTupleIndices, "int64_t":$operandIndex,
                    ArrayRefParameter<"int64_t">:$operandTupleIndices);
}
def Vhlo_StringAttr : Vhlo_Attr<"StringV1"> {
  let parameters = (ins StringRefParameter<"text">:$value);
}
def Vhlo_TensorAttr : Vhlo_Attr<"TensorV1"> {
  let summary = "the elements of a ranked tensor as raw bytes";
  let parameters = (ins "::mlir::Type":$type, ArrayRefParameter<"char">:$data);
}
def Vhlo_TypeAttr : Vhlo_Attr<"TypeV1"> {
  let parameters = (ins "::mlir::Type":$value);
}
def Vhlo_TypeExtensionsAttr : Vhlo_Attr<"TypeExtensionsV1"> {
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
}
def Vhlo_ResultAccuracyAttr : Vhlo_Attr<"ResultAccuracyV1"> {
  let parameters = (ins Vhlo_Float64:$atol, Vhlo_Float64:$rtol, "int64_t":$ulps,
                    "::mlir::Attribute":$mode);
}
def Vhlo_SubAxisInfoAttr : Vhlo_Attr<"SubAxisInfoV1"> {
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
}
def Vhlo_AxisRefAttr : Vhlo_Attr<"AxisRefV1"> {
  let parameters = (ins "::mlir::Attribute":$name,
                    OptionalParameter<"::mlir::Attribute">:$subAxisInfo);
}
def Vhlo_ReplicaGroupMeshAxesAttr : Vhlo_Attr<"ReplicaGroupMeshAxesV1"> {
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::Attribute":$axes);
}
def Vhlo_MeshAxisAttr : Vhlo_Attr<"MeshAxisV1"> {
  let parameters = (ins "::mlir::Attribute":$name, "int64_t":$size);
}
def Vhlo_MeshAttr : Vhlo_Attr<"MeshV1"> {
  let parameters = (ins "::mlir::Attribute":$axes,
                    OptionalParameter<"::mlir::Attribute">:$deviceIds);
}

#endif // CUPEL_IR_VHLO_TD
