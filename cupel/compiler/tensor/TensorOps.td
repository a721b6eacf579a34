// Tensor IR: what a device does well is one operation, on tensors with value semantics. Bodies are
// blocks of StableHLO on elements (rank 0) or on one row (rank 1), so that every operation can be
// written out as StableHLO and code can be generated from the block as it stands. What has no
// operation here is carried as the StableHLO operation it is.

#ifndef CUPEL_COMPILER_TENSOR_TENSOROPS_TD
#define CUPEL_COMPILER_TENSOR_TENSOROPS_TD

include "cupel/ir/stablehlo/StablehloBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tir_Dialect : Dialect {
  let name = "tir";
  let cppNamespace = "::cupel::tir";
  let summary = "Tensor IR: fused operations on tensors, with views as ways of reading";
  let dependentDialects = ["::cupel::stablehlo::StablehloDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def Tir_ViewAttr : AttrDef<Tir_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "Which element of an operand goes with each point of a loop";
  let description = [{
    The operand lies in memory row by row. Point (i0, i1, ...) of the loop reads the element
    `offset + i0 * strides[0] + i1 * strides[1] + ...`. A stride of zero repeats, a negative one
    goes backwards. `valid` holds, for each dimension of the loop, where reading begins and ends;
    points outside read `padding` instead. Without it all points read.
  }];
  let parameters = (ins "int64_t":$offset, OptionalArrayRefParameter<"int64_t">:$strides,
      OptionalArrayRefParameter<"int64_t">:$valid, OptionalParameter<"::mlir::TypedAttr">:$padding);
  let hasCustomAssemblyFormat = 1; // <offset, [strides], valid [bounds], padding>
  let extraClassDeclaration = [{
    /// Element i of the operand goes with point i of the loop.
    static ViewAttr identity(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> sizes);
    bool isIdentity(::llvm::ArrayRef<int64_t> sizes) const;
  }];
}
def Tir_ViewArrayAttr : TypedArrayAttrBase<Tir_ViewAttr, "views, one for each operand">;

class Tir_Op<string mnemonic, list<Trait> traits = []> : Op<Tir_Dialect, mnemonic, traits>;

def Tir_YieldOp : Tir_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "What a body computes";
  let arguments = (ins Variadic<Hlo_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tir_MapOp : Tir_Op<"map", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "A function of elements at every point of a loop";
  let description = [{
    The loop has the sizes `sizes`; the results have as many elements as it has points, and point
    after point in row-major order is element after element of each result. The body's arguments
    are the elements that the views read.
  }];
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, DenseI64ArrayAttr:$sizes,
      Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let assemblyFormat = [{
    `(` $inputs `)` `over` $sizes `reading` $views attr-dict-with-keyword
      `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

def Tir_RowOp : Tir_Op<"row", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "A function of rows: maps and reductions of one row, for every row of a loop";
  let description = [{
    For every point of `sizes` the body is run once. An argument of rank 1 has `length` elements and
    its view reads over `sizes` and the row; an argument of rank 0 is one element for each row and
    its view reads over `sizes`. A result that the body yields with rank 1 has a row for each point,
    one of rank 0 an element. The body holds elementwise operations, broadcasts of an element to the
    row, and reductions of the row to an element.

    With `piece`, rows are cut into pieces of so many elements, and views of rows read over `sizes`, the
    pieces and what is within one: either the row in step, or one element for each piece (the factors of
    a group norm, whose rows are channels).
  }];
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, DenseI64ArrayAttr:$sizes, I64Attr:$length,
      OptionalAttr<I64Attr>:$piece, Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let assemblyFormat = [{
    `(` $inputs `)` `over` $sizes `rows` `of` $length (`in` `pieces` `of` $piece^)? `reading` $views attr-dict-with-keyword
      `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

def Tir_ReduceOp : Tir_Op<"reduce", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "A function of elements, combined over dimensions of a loop";
  let description = [{
    The body makes one element of what the views read at each point of `sizes`; points that differ
    only in the dimensions `reduced` are combined with `combiner` (add, multiply, maximum,
    minimum, and, or), beginning with `init`. The result has the remaining points.
  }];
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$reduced,
      StrAttr:$combiner, TypedAttrInterface:$init, Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $combiner `(` $inputs `)` `from` $init `over` $sizes `reducing` $reduced `reading` $views
      attr-dict-with-keyword `:` functional-type($inputs, $result) $body
  }];
  let hasVerifier = 1;
}

def Tir_ProductOp : Tir_Op<"product", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Matrix products with an epilogue";
  let description = [{
    For every point of `batch` a product of a `rows` x `depth` and a `depth` x `columns` matrix. The
    first view reads `lhs` over batch, rows and depth, the second `rhs` over batch, depth and
    columns. The result lies row by row over batch, rows and columns; the other views read `extras`
    over all its rows, one below the other, and columns. The body takes the element of the product
    (in f32 where the sides are bf16) and those of the extras, and yields the element of the result. Sides may be
    integers of 8 bits with or without sign, whose products are of 32 bits; `zeros` is what is taken from each
    of their numbers.
  }];
  let arguments = (ins Hlo_Tensor:$lhs, Hlo_Tensor:$rhs, Variadic<Hlo_Tensor>:$extras,
      DenseI64ArrayAttr:$batch, I64Attr:$rows, I64Attr:$columns, I64Attr:$depth,
      OptionalAttr<DenseI64ArrayAttr>:$zeros, Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    `(` $lhs `,` $rhs `)` (`with` `(` $extras^ `)`)? `batch` $batch `rows` $rows `columns` $columns `depth`
      $depth (`zeros` $zeros^)? `reading` $views attr-dict-with-keyword `:` functional-type(operands, $result) $body
  }];
  let hasVerifier = 1;
}

def Tir_AttentionOp : Tir_Op<"attention", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Products, a function of their rows, and products with what it makes";
  let description = [{
    For every point of `batch` a product of a `rows` x `depth` and a `depth` x `columns` matrix, whose
    rows the body makes into others of the same length, which are multiplied with a `columns` x
    `width` matrix. The first view reads `query` over batch, rows and depth, the second `key` over
    batch, depth and columns, the third `value` over batch, columns and width. The other views read
    `extras` as those of `tir.row` over `sizes`, which has as many points as batch and rows together.
    The body is one of `tir.row` whose first argument is a row of the first product. Element (batch,
    row, column) of the result lies where `placing` says: at a stride for each dimension of the batch
    and one for rows, plus the column; these are the strides of some order of them.
  }];
  let arguments = (ins Hlo_Tensor:$query, Hlo_Tensor:$key, Hlo_Tensor:$value,
      Variadic<Hlo_Tensor>:$extras, DenseI64ArrayAttr:$batch, I64Attr:$rows, I64Attr:$columns,
      I64Attr:$depth, I64Attr:$width, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$placing,
      Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `)` (`with` `(` $extras^ `)`)? `batch` $batch `rows` $rows `columns`
      $columns `depth` $depth `width` $width `over` $sizes `placing` $placing `reading` $views
      attr-dict-with-keyword `:` functional-type(operands, $result) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimensions of batch and rows, numbered in that order, from the outermost of the result on.
    ::llvm::SmallVector<int64_t> placedOrder();
  }];
}

def Tir_ConvolutionOp : Tir_Op<"convolution", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "A convolution of images or volumes with channels inmost, with an epilogue";
  let description = [{
    `image` is batch x height x width x channels, the result batch x height x width x filters; of volumes both have a
    depth before the height. The first view reads `kernel` over the sizes of `window`, the channels of a group, and
    filters. `padding` is low and high of each spatial dimension. With `spread`, pixels of the image lie so far apart,
    with zeros between them (a transposed convolution). With `rounded`, numbers of image and kernel are
    bf16, or f32 that is rounded to bf16 on its way; sums are f32. The other views read `extras` over pixels (batch and
    spatial dimensions of the result) and filters. The body takes the element of the convolution and those
    of the extras. Image and kernel may be integers of 8 bits, as the sides of `tir.product`, with `zeros`; what
    lies outside of the image adds nothing. With `turned`, the result lies channels first, batch x filters x spatial
    dimensions; views and the body stay as they are.
  }];
  let arguments = (ins Hlo_Tensor:$image, Hlo_Tensor:$kernel, Variadic<Hlo_Tensor>:$extras,
      DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilations, OptionalAttr<DenseI64ArrayAttr>:$spread, I64Attr:$groups,
      UnitAttr:$rounded, OptionalAttr<DenseI64ArrayAttr>:$zeros, UnitAttr:$turned, Tir_ViewArrayAttr:$views);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    `(` $image `,` $kernel `)` (`with` `(` $extras^ `)`)? `window` $window `strides` $strides
      `padding` $padding `dilations` $dilations (`spread` $spread^)? `groups` $groups
      (`rounded` $rounded^)? (`zeros` $zeros^)? (`turned` $turned^)? `reading` $views
      attr-dict-with-keyword `:` functional-type(operands, $result) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How far apart the pixels of a dimension lie.
    int64_t spreadOf(unsigned dimension) { return getSpread() ? (*getSpread())[dimension] : 1; }
    /// Batch, spatial dimensions and filters of the result, however it lies.
    ::llvm::SmallVector<int64_t> resultSizes();
    int64_t filters() { return resultSizes().back(); }
  }];
}

def Tir_CorrelationOp : Tir_Op<"correlation", [Pure]> {
  let summary = "One stack of images laid over another at every place, multiplied and summed";
  let description = [{
    `image` is images x height x width x rows, `window` images x height x width x columns, the result places down x
    places across x rows x columns: at each place of the window the sum over images and pixels of the
    window of what lies under each other. That is the gradient of a convolution's kernel. `padding` is top, bottom,
    left, right.
  }];
  let arguments = (ins Hlo_Tensor:$image, Hlo_Tensor:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilations);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    `(` $image `,` $window `)` `strides` $strides `padding` $padding `dilations` $dilations attr-dict
      `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Tir_PoolOp : Tir_Op<"pool", [Pure]> {
  let summary = "Windows of images with channels inmost, each combined to one element";
  let description = [{
    `combiner` is `maximum` (padding never wins; of integers of 8 bits as well) or `add` (padding adds nothing). `image` is batch x
    height x width x channels.
  }];
  let arguments = (ins Hlo_Tensor:$image, StrAttr:$combiner, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = [{
    $combiner `(` $image `)` `window` $window `strides` $strides `padding` $padding attr-dict
      `:` functional-type($image, $result)
  }];
  let hasVerifier = 1;
}

def Tir_WhileOp : Tir_Op<"while", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A loop of functions";
  let description = [{
    `condition` takes what is carried and what is given, and says whether there is a first step. `body`
    takes the same, and returns what is carried next and, last, whether there is another step.
  }];
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs, I64Attr:$carried, FlatSymbolRefAttr:$condition,
      FlatSymbolRefAttr:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let assemblyFormat = [{
    $condition `do` $body `(` $inputs `)` `carrying` $carried attr-dict
      `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

def Tir_CaseOp : Tir_Op<"case", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One of several functions of the same values";
  let description = [{
    `index` says which; what is below the first or past the last is the last.
  }];
  let arguments = (ins Hlo_Tensor:$index, Variadic<Hlo_Tensor>:$inputs,
      TypedArrayAttrBase<FlatSymbolRefAttr, "functions">:$branches);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let assemblyFormat = [{
    $index `of` $branches `(` $inputs `)` attr-dict `:` functional-type(operands, $results)
  }];
  let hasVerifier = 1;
}

def Tir_AsOp : Tir_Op<"as", [Pure]> {
  let summary = "The same memory: complex numbers as pairs of numbers, or pairs as complex numbers";
  let description = [{
    Pairs lie along a last dimension of two, the real part first. Nothing is moved.
  }];
  let arguments = (ins Hlo_Tensor:$operand);
  let results = (outs Hlo_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasVerifier = 1;
}

def Tir_OnReferenceOp : Tir_Op<"on_reference", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "An operation that the golden reference's kernel is to compute";
  let description = [{
    What the body holds is computed as it stands, whether or not the device has a kernel of its own for
    it, and is fused with nothing around it.
  }];
  let arguments = (ins Variadic<Hlo_Tensor>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Hlo_Tensor>:$results);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

#endif // CUPEL_COMPILER_TENSOR_TENSOROPS_TD
