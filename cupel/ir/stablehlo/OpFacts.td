// What passes, estimates, the partitioner and devices ask of an operation without asking which one
// it is. An operation states its facts in its record; lists of names elsewhere are not kept. The
// traits are empty classes of OpFacts.h, so that they cost the compiler next to nothing.

#ifndef CUPEL_IR_STABLEHLO_OPFACTS_TD
#define CUPEL_IR_STABLEHLO_OPFACTS_TD

include "mlir/IR/OpBase.td"

class Hlo_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::cupel::stablehlo";
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

// Element i of the result is made of element i of each operand; an operand of rank 0 goes with all.
def Hlo_Elementwise : Hlo_Trait<"Elementwise">;
// Elementwise on operands and results of one shape, which MLIR's own trait checks.
def Hlo_ElementwiseOnOneShape : TraitList<[Elementwise, Hlo_Elementwise]>;
// Takes one transcendental function an element.
def Hlo_Transcendental : Hlo_Trait<"Transcendental">;
// The results have no number that the operands do not have.
def Hlo_KeepsNumbers : Hlo_Trait<"KeepsNumbers">;
// Yields bits, which only by chance are numbers: they must not be rounded.
def Hlo_YieldsBits : Hlo_Trait<"YieldsBits">;
// No arithmetic of its own: values come from elsewhere, or from operations inside.
def Hlo_NoArithmetic : Hlo_Trait<"NoArithmetic">;
// Elements of the results are elements of the operands, put elsewhere.
def Hlo_MovesElements
    : TraitList<[Hlo_Trait<"MovesElements">, Hlo_KeepsNumbers, Hlo_NoArithmetic]>;

//===----------------------------------------------------------------------===//
// Linearity: which partial sums pass
//===----------------------------------------------------------------------===//

// f(a + b, c + d) = f(a, c) + f(b, d), in all operands that lie over the results.
def Hlo_Linear : Hlo_Trait<"Linear">;
// Linear in each operand while the others stay.
def Hlo_LinearInEach : Hlo_Trait<"LinearInEach">;
// Linear in its first operand, on floats.
def Hlo_LinearInFirst : Hlo_Trait<"LinearInFirst">;
// Linear but for a rounding of each summand between floats: the program must ask for it.
def Hlo_LinearButRounds : Hlo_Trait<"LinearButRounds">;

//===----------------------------------------------------------------------===//
// Other processes, the host, the outside
//===----------------------------------------------------------------------===//

// Waits for other processes of the program.
def Hlo_Collective : Hlo_Trait<"Collective">;
// Gives another value on another process.
def Hlo_DependsOnProcess : Hlo_Trait<"DependsOnProcess">;
// What it does is seen outside of the program, or comes from there.
def Hlo_ActsOutside : Hlo_Trait<"ActsOutside">;
// Only a name says what it computes.
def Hlo_Opaque : Hlo_Trait<"Opaque">;
// May be the body of async_start.
def Hlo_Startable : Hlo_Trait<"Startable">;

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

// While its first region says so, runs its second on what it carries, beginning with the operands.
def Hlo_Loops : TraitList<[Hlo_Trait<"Loops">, Hlo_KeepsNumbers, Hlo_NoArithmetic]>;
// Runs one of its regions, which take no arguments.
def Hlo_Branches : TraitList<[Hlo_Trait<"Branches">, Hlo_KeepsNumbers, Hlo_NoArithmetic]>;
// Runs its one region, on its operands.
def Hlo_RunsOnce : Hlo_Trait<"RunsOnce">;

//===----------------------------------------------------------------------===//
// Memory and shapes
//===----------------------------------------------------------------------===//

// Result i is operand i.
def Hlo_Identity : Hlo_Trait<"Identity">;
// Result i is the bytes of operand i.
def Hlo_KeepsBytes : Hlo_Trait<"KeepsBytes">;
// Result i is operand i with some elements written over.
def Hlo_UpdatesOperands : Hlo_Trait<"UpdatesOperands">;
// The result holds all operands, or what the region returns.
def Hlo_Packs : Hlo_Trait<"Packs">;
// Results are what the operand holds: all of it, or what the attribute `index` names.
def Hlo_Unpacks : Hlo_Trait<"Unpacks">;
// The values of some operands decide the shape of results.
def Hlo_ShapeFromValues : Hlo_Trait<"ShapeFromValues">;

class Hlo_Interface<string name> : OpInterface<name> {
  let cppNamespace = "::cupel::stablehlo";
}

// Operations without it relate the dimensions of operands and results of one shape.
def Hlo_DimensionsOpInterface : Hlo_Interface<"DimensionsOpInterface"> {
  let description = "How dimensions of operands and results relate";
  let methods = [InterfaceMethod<"See DimensionRule.", "::cupel::stablehlo::DimensionRule",
                                 "getDimensionRule">];
}
def Hlo_HasDimensionRule : DeclareOpInterfaceMethods<Hlo_DimensionsOpInterface>;

// Operations without it take an operation for each element of the results, or, if a region combines
// elements, of the first operand.
def Hlo_FlopsOpInterface : Hlo_Interface<"FlopsOpInterface"> {
  let description = "How much arithmetic an operation is";
  let methods = [InterfaceMethod<"Additions and multiplications.", "double", "getFlops">];
}
def Hlo_HasFlops : DeclareOpInterfaceMethods<Hlo_FlopsOpInterface>;

def Hlo_ScratchOpInterface : Hlo_Interface<"ScratchOpInterface"> {
  let description = "Memory that an operation takes while it runs, of the size of tensors";
  let methods = [InterfaceMethod<"Bytes beside operands and results.", "int64_t",
                                 "getScratchBytes">];
}
def Hlo_HasScratch : DeclareOpInterfaceMethods<Hlo_ScratchOpInterface>;

// A function of two elements that elements may be combined with in any order.
def Hlo_CombinerOpInterface : Hlo_Interface<"CombinerOpInterface"> {
  let description = "Combines elements in any order and grouping";
  let methods = [InterfaceMethod<"Whether combining with this number changes nothing.", "bool",
                                 "isNeutral", (ins "::mlir::DenseElementsAttr":$splat)>];
}
def Hlo_Combines : DeclareOpInterfaceMethods<Hlo_CombinerOpInterface>;

#endif // CUPEL_IR_STABLEHLO_OPFACTS_TD
