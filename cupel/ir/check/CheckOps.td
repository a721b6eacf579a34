// The check dialect: ops with which a program judges its own results. Self-checking tests are
// written with it.

#ifndef CUPEL_IR_CHECK_CHECKOPS_TD
#define CUPEL_IR_CHECK_CHECKOPS_TD

include "cupel/ir/stablehlo/StablehloBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Check_Dialect : Dialect {
  let name = "check";
  let cppNamespace = "::cupel::check";
  let summary = "Assertions about tensors";
}

class Check_Op<string mnemonic, list<Trait> traits = []> : Op<Check_Dialect, mnemonic, traits>;

// The attribute says what the operand is compared with, so it has the operand's type.
class Check_ConstOp<string mnemonic>
    : Check_Op<mnemonic, [AllTypesMatch<["value", "lhs"]>]>;

def Check_Tolerance : DefaultValuedOptionalAttr<F64Attr, "::llvm::APFloat(1e-4)">;

def Check_ExpectEqOp : Check_Op<"expect_eq", [SameTypeOperands]> {
  let summary = "Holds when all elements are equal; NaN equals nothing";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Check_ExpectEqConstOp : Check_ConstOp<"expect_eq_const"> {
  let summary = "Holds when all elements equal those of the attribute";
  let arguments = (ins Hlo_Tensor:$lhs, ElementsAttr:$value);
  let assemblyFormat = "$lhs `,` $value attr-dict";
}

def Check_ExpectAlmostEqOp : Check_Op<"expect_almost_eq", [SameTypeOperands]> {
  let summary = "Holds when no element is further off than an absolute tolerance";
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs, Check_Tolerance:$tolerance);
  let assemblyFormat = [{
    $lhs `,` $rhs (`,` `tolerance` `=` $tolerance^)? attr-dict `:` type($lhs)
  }];
}

def Check_ExpectAlmostEqConstOp : Check_ConstOp<"expect_almost_eq_const"> {
  let summary = "Holds when no element is further off the attribute's than an absolute tolerance";
  let arguments = (ins Hlo_Tensor:$lhs, ElementsAttr:$value, Check_Tolerance:$tolerance);
  let assemblyFormat = "$lhs `,` $value (`,` `tolerance` `=` $tolerance^)? attr-dict";
}

def Check_ExpectCloseOp : Check_Op<"expect_close", [SameTypeOperands]> {
  let summary = "Holds when all elements are within a number of units in the last place";
  let arguments = (ins
    Hlo_Tensor:$actual,
    Hlo_Tensor:$expected,
    DefaultValuedOptionalAttr<UI64Attr, "1">:$max_ulp_difference,
    DefaultValuedOptionalAttr<UI64Attr, "0">:$min_ulp_difference
  );
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Check_ExpectSerializedEqOp : Check_Op<"expect_serialized_eq"> {
  let summary = "Holds when a probe has written exactly this tensor";
  let arguments = (ins
    Hlo_Tensor:$expected,
    StrAttr:$probe_id,
    DefaultValuedOptionalAttr<UI32Attr, "0">:$iter
  );
  let assemblyFormat = [{
    $expected `,` `probe_id` `=` $probe_id (`,` `iter` `=` $iter^)? attr-dict `:` type($expected)
  }];
}

#endif // CUPEL_IR_CHECK_CHECKOPS_TD
