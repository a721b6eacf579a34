// The passes that form tensor IR: one record here, one source file, one test of the same name under
// tests/lit/tensor.

#ifndef CUPEL_COMPILER_TENSOR_PASSES_TD
#define CUPEL_COMPILER_TENSOR_PASSES_TD

include "mlir/Pass/PassBase.td"

class TensorPass<string argument> : Pass<argument, "mlir::ModuleOp"> {
  let dependentDialects = ["::cupel::tir::TirDialect"];
}

def OutlineControlFlow : TensorPass<"outline-control-flow"> {
  let summary = "Make functions of the regions of loops and branches";
  let description = [{
    So that all other passes see them, and each becomes a device program. What a region uses from
    around it becomes an argument; small constants are made again inside. The test of a loop is also
    put behind its body, so that a step is one program. Branches of a few cheap operations on few elements
    are computed all, and selects choose among their results. Loops and branches on tokens or on sizes
    known at run time only stay as they are.
  }];
}

def ComplexAsPairs : TensorPass<"complex-as-pairs"> {
  let summary = "Compute complex numbers as pairs of real ones";
  let description = [{
    Sums, products, magnitudes and choices of complex numbers become those of their parts, which are read where they lie, and what moves
    complex numbers moves pairs. Division and transcendental functions stay as they are.
  }];
}
def PlaceOnReference : TensorPass<"place-on-reference"> {
  let summary = "Set aside what the golden reference's kernels are to compute";
  let description = [{
    Operations that are marked `cupel.placement = "reference"` become `tir.on_reference`, which no other
    pass looks into.
  }];
}

def QuantizedAsIntegers : TensorPass<"quantized-as-integers"> {
  let summary = "Write operations on quantized types out on the integers that are stored";
  let description = [{
    Of f32 in 8, 16 or 32 bits: quantizing and dequantizing, moves, elementwise operations, products and convolutions, with the
    golden reference's roundings. A program with other operations on quantized types, or other quantized types, is left as it is.
  }];
}

def GeneralizeDots : TensorPass<"generalize-dots"> {
  let summary = "Make dot_general of dot";
  let description = [{
    Older exporters write the product of two matrices or vectors so. Of sizes that are known, and not of quantized types.
  }];
}

def IntegerSums : TensorPass<"integer-sums"> {
  let summary = "Make sums of integers of products and convolutions of dequantized ones";
  let description = [{
    Where both sides are (x - zero) * scale of 8-bit integers, with known positive scales, of which those of one side may differ by
    row, column or filter, and the sum of integers fits in 32 bits. It is multiplied once, with the product of the scales.
  }];
}

def FoldConstants : TensorPass<"fold-constants"> {
  let summary = "Compute what is known before the program runs";
  let description = [{
    With the golden reference, once. Results that are larger than what they are made of are left to
    the run, unless one number stands for all of them; of what is counted along one of several dimensions elementwise operations
    read one line. Multiplications and divisions by one,
    conversions to the same type, moves that move nothing, barriers, and what speaks of shardings are
    dropped: the program is for one device.
  }];
  let options = [
    Option<"evaluate", "evaluate", "bool", "true", "Otherwise only barriers and what speaks of shardings are dropped">,
    Option<"joinsVectors", "joins-vectors", "bool", "false", "Only make constants of index vectors that other passes left in parts">
  ];
}

def NameFusions : TensorPass<"name-fusions"> {
  let summary = "Find what has a name: softmax, norms, activations, biases, rotary embeddings";
  let description = [{
    What is found is counted (`tir.fusions` of the module). Rotary embeddings, sums of convolutions and sorts of which little is needed are
    rewritten; the others are fused by later passes as they stand. Those that `without` names are
    not rewritten, and their operations are marked to be fused with no other.
  }];
  let options = [
    Option<"without", "without", "std::string", "\"\"", "Names of fusions that are left out, parted by commas">
  ];
}

def VolumesAsImages : TensorPass<"volumes-as-images"> {
  let summary = "Bring correlations and pools of three spatial dimensions to two, and pools of one";
  let description = [{
    Slices of a volume under the window of a correlation become channels of an image; windows of pools are folded over height and width and then over the depth.
  }];
}

def SeparateGathers : TensorPass<"separate-gathers"> {
  let summary = "Gather each dimension by itself where index vectors are a grid";
  let description = [{
    Each part of the vectors goes along a dimension of the batch of its own, or is one place: so importers resize
    images. Left where more than twice the result would be made in between.
  }];
}

def WidenWindows : TensorPass<"widen-windows"> {
  let summary = "Gather and scatter dimensions whole that index vectors only count along";
  let description = [{
    Where nothing else of the vectors changes along that dimension of the batch: places of an image are the same in all channels. They,
    and what is computed of them, are computed once.
  }];
}
def UntransposePlaces : TensorPass<"untranspose-places"> {
  let summary = "Gather from, and scatter into, what a transpose is made of";
  let description = [{
    Instead of the transpose, where what was gathered, or is to be scattered, is less or keeps its order. A transpose of what was
    gathered that moves windows between the dimensions of the batch says where windows are.
  }];
}
def WidenProducts : TensorPass<"widen-products"> {
  let summary = "Compute products of f16, and of floats of several types, in f32";
  let description = [{
    Sides are converted, and the result is rounded once. Products of f32 and of bf16 have kernels, and stay; so do those that name an algorithm.
  }];
}
def UnrollShortReductions : TensorPass<"unroll-short-reductions"> {
  let summary = "Combine the few elements of a last dimension one by one";
  let description = [{
    Of two to four of them, so that loops go along what is left. What is computed of elements and of what they were reduced to stays a row.
  }];
}
def SinkGathers : TensorPass<"sink-gathers"> {
  let summary = "Compute before a gather what is computed of elements that it takes more of than there are";
  let description = [{
    Of operands that are taken by the same places, or are the same at all of them: interpolation along columns is done for the rows
    of the image.
  }];
}
def JoinPlaces : TensorPass<"join-places"> {
  let summary = "Point into neighbouring dimensions of gathers and scatters as into one";
  let description = [{
    Parts of index vectors become one number that is computed with what it follows from. Of gathers it is held inside, of scatters it is -1 where a
    part is outside. Parts that count along the batch stay, and those of dimensions with one place go.
  }];
}
def GathersAsMoves : TensorPass<"gathers-as-moves"> {
  let summary = "Make slices, reversals and broadcasts of gathers whose places are known, and batches of parts of indices that only count";
  let description = [{
    Repeated elements (upsampling by nearest neighbours) are broadcasts that others read through.
    Index vectors of which all but one part count along the batch, of gathers and scatters, are that part, with batching dimensions.
  }];
}

def JoinSummedGroups : TensorPass<"join-summed-groups"> {
  let summary = "Make one convolution of groups whose results are summed";
  let description = [{
    Where all that is done with a convolution in groups is to sum it over the groups, they are channels
    of one. Gradients of kernels come with a group for every image of the batch.
  }];
}

def FormConvolutions : TensorPass<"form-convolutions"> {
  let summary = "Bring convolutions and pools of images to channels inmost";
  let description = [{
    Of f32 and one or two spatial dimensions. Images are transposed before and back behind; kernels are
    read as they lie. A window that is all of an image becomes a reduction. Where operands are rounded to bf16 (`narrow-products`) and taps have many channels, the convolution
    rounds its image itself.
  }];
}

def ReadIntegers : TensorPass<"read-integers"> {
  let summary = "Let products and convolutions read integers of few bits as they lie";
  let description = [{
    Conversions of integers of 8 and 16 bits to the 32 of the sums, and zero points of zero, are left to the kernels.
  }];
}

def SinkTransposes : TensorPass<"sink-transposes"> {
  let summary = "Move transposes behind elementwise operations, reductions and moves, and cancel them";
  let description = [{
    Those that `form-convolutions` made (`tir.layout`), where the other operands are transposed alike,
    or are numbers and broadcasts, which are made in the other order just as well. They pass concatenations, slices, pads,
    reversals, gathers along one dimension, reshapes of dimensions that are neighbours on both sides, broadcasts, and transposes of channels among each other.
  }];
}

def RepeatConversions : TensorPass<"repeat-conversions"> {
  let summary = "Let each reader of a tensor that is widened for a sum widen it itself";
  let description = [{
    Importers compute variances in f64: the image in f64 would lie in memory for the two sums that read it, twice as large as what
    it was converted from.
  }];
}

def FormProducts : TensorPass<"form-products"> {
  let summary = "Make products of dot_general";
  let description = [{
    Of f32, or of bf16 with sums in f32, which are rounded once where the result is bf16. Each side is
    read as it lies, through transposes, reshapes, slices and broadcasts that leave its rows, columns
    and depth one stride each.
  }];
}

def FuseEpilogues : TensorPass<"fuse-epilogues"> {
  let summary = "Let products and convolutions do what is done to each of their elements";
  let description = [{
    Bias, activation, residual: elementwise operations of which one value is needed behind them, and
    whose other operands have one stride along rows and one along columns.
  }];
}

def FormRows : TensorPass<"form-rows"> {
  let summary = "Make one operation of reductions of rows and what is done to the rows";
  let description = [{
    Seeds are reductions over the inmost dimensions. Elementwise operations on the rows, on an element
    for each row, broadcasts of such an element to its row, and further reductions of the same rows
    join.
  }];
}

def FormReductions : TensorPass<"form-reductions"> {
  let summary = "Let reductions make the elements that they combine";
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Otherwise each reads what it combines from memory">
  ];
}

def FormMaps : TensorPass<"form-maps"> {
  let summary = "Make one map of elementwise operations on as many elements";
  let description = [{
    Operands are read through the operations that moved them there (broadcast, transpose, slice,
    reverse, pad, reshape), which then need not be computed. A group of which several values are
    needed has several results. What only moves elements and is still needed becomes a map as well.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Otherwise each operation and each move is a map of its own">
  ];
}

def FormAttention : TensorPass<"form-attention"> {
  let summary = "Make one operation of products, a function of their rows, and products with its rows";
  let description = [{
    Whatever the function of rows is (softmax, with or without masks and scales): what counts is that
    nobody else needs its rows, or the scores before it. What the first product does to its elements
    becomes part of the function. Heads that are only moved beside each other behind it are written
    there. For products of f32 and of some rows at least.
  }];
}

def TurnResults : TensorPass<"turn-results"> {
  let summary = "Let convolutions write what is brought to channels first there themselves";
  let description = [{
    What nobody needs with channels inmost is turned tile by tile, while it is in the nearest cache. Of results in f32.
  }];
}

def PlantWrongRewrite : TensorPass<"plant-wrong-rewrite"> {
  let summary = "For tests: swap the operands of sums, and make one of them a difference";
  let description = [{
    Whoever looks for the rewrite that makes a program wrong is tried on this one: all but one are
    right. Runs only where it is asked for.
  }];
  let options = [
    Option<"number", "number", "int64_t", "1", "Which of them is wrong, from 1 on">
  ];
}

def ExpandTensorIr : TensorPass<"expand-tensor-ir"> {
  let summary = "Write tensor IR out as StableHLO";
  let description = [{
    Views become gathers and bodies operations on whole tensors, so that the golden reference can
    evaluate what the passes made.
  }];
}

#endif // CUPEL_COMPILER_TENSOR_PASSES_TD
