// Convolutions of every kind, their gradients, and patches (im2col and back).

#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

/// How a convolution goes; one number a spatial dimension.
struct Options {
  Dims strides, low, high, dilations, outputPadding;
  int64_t groups = 1;
  bool transposed = false;
};

/// [G * I, O, ...] -> [G * O, I, ...].
Value swapInGroups(HloBuilder &b, Value kernel, int64_t groups) {
  Dims shape(H::shapeOf(kernel)), apart{groups, shape[0] / groups, shape[1]}, order{0, 2, 1},
      together{groups * shape[1], shape[0] / groups};
  for (size_t i = 2; i < shape.size(); ++i) {
    apart.push_back(shape[i]);
    together.push_back(shape[i]);
    order.push_back(i + 1);
  }
  return b.reshape(b.transpose(b.reshape(kernel, apart), order), together);
}

/// Complex numbers are convolved part by part.
Value convolvePlain(HloBuilder &b, Value x, Value kernel, const H::Convolution &how) {
  if (!H::isComplex(x))
    return b.convolution(x, kernel, how);
  Value a = realPart(b, x), c = imaginaryPart(b, x), p = realPart(b, kernel),
        q = imaginaryPart(b, kernel);
  auto product = [&](Value u, Value v) { return b.convolution(u, v, how); };
  return makeComplex(b, b.subtract(product(a, p), product(c, q)),
                     b.add(product(a, q), product(c, p)));
}

/// x [N, C, ...]; kernel as torch has it.
Value convolve(HloBuilder &b, Value x, Value kernel, const Options &o) {
  H::Convolution how;
  how.groups = o.groups;
  if (!o.transposed) {
    how.strides = o.strides;
    how.low = o.low;
    how.high = o.high;
    how.kernelDilations = o.dilations;
    return convolvePlain(b, x, kernel, how);
  }
  for (size_t i = 0; i < o.strides.size(); ++i) {
    int64_t reach = (H::shapeOf(kernel)[i + 2] - 1) * o.dilations[i];
    how.strides.push_back(1);
    how.baseDilations.push_back(o.strides[i]);
    how.kernelDilations.push_back(o.dilations[i]);
    how.low.push_back(reach - o.low[i]);
    how.high.push_back(reach - o.high[i] + o.outputPadding[i]);
  }
  how.reverseKernel = true;
  return convolvePlain(b, x, swapInGroups(b, kernel, o.groups), how);
}

/// Reads strides and the rest; padding may be the words "same" or "valid".
std::optional<Options> readOptions(Node &n, Value kernel, bool transposed) {
  size_t spatial = H::rankOf(kernel) - 2;
  Options o;
  o.strides = n.repeated("stride", spatial, {1});
  o.dilations = n.repeated("dilation", spatial, {1});
  o.groups = n.integer("groups", 1);
  o.transposed = transposed;
  if (transposed)
    o.outputPadding = n.repeated("output_padding", spatial, {0});
  if (n.overload() == "padding") {
    std::string word = n.text("padding");
    for (size_t i = 0; i < spatial; ++i) {
      int64_t total = word == "same" ? o.dilations[i] * (H::shapeOf(kernel)[i + 2] - 1) : 0;
      o.low.push_back(total / 2);
      o.high.push_back(total - total / 2);
    }
  } else {
    o.low = o.high = n.repeated("padding", spatial, {0});
  }
  for (Dims *list : {&o.strides, &o.dilations, &o.low, &o.high})
    if (list->size() != spatial) {
      n.fail("stride, padding or dilation has another length than the kernel has dimensions");
      return std::nullopt;
    }
  for (size_t i = 0; i < spatial; ++i)
    if (o.strides[i] < 1 || o.dilations[i] < 1) {
      n.fail("stride and dilation should be positive");
      return std::nullopt;
    }
  if (o.groups < 1 || H::shapeOf(kernel)[0] % o.groups) {
    n.fail("groups does not divide the kernel's channels");
    return std::nullopt;
  }
  return o;
}

void lower(Node &n, bool transposed) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("input", type), kernel = n.in("weight", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(kernel);
  if (rank < 3 || (H::rankOf(x) != rank && H::rankOf(x) != rank - 1))
    return n.fail("the kernel has another rank than the input");
  bool single = H::rankOf(x) == rank - 1;
  if (single)
    x = b.unsqueeze(x, 0);
  std::optional<Options> o = readOptions(n, kernel, transposed);
  if (!o)
    return;
  int64_t channels = transposed ? H::shapeOf(kernel)[0] : H::shapeOf(kernel)[1] * o->groups;
  if (H::shapeOf(x)[1] != channels)
    return n.fail("the kernel has other channels than the input");
  Value y;
  Dims declared(n.resultShape());
  if (single)
    declared.insert(declared.begin(), 1);
  if (isEmpty(x) || isEmpty(kernel))
    y = b.splat(0, type, declared);
  else
    y = convolve(b, x, kernel, *o);
  if (n.has("bias"))
    y = b.add(y, perChannel(b, n.in("bias", type), rank));
  if (single)
    y = b.reshape(y, H::shapeOf(y).drop_front());
  n.out(y);
}

void lowerConvTbc(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  // [time, batch, channels] and a kernel [width, in, out].
  Value x = b.transpose(n.in("self", type), {1, 2, 0});
  Value kernel = b.transpose(n.in("weight", type), {2, 1, 0});
  int64_t pad = n.integer("pad");
  Value y = b.convolution(x, kernel, {{1}, {pad}, {pad}, {}, {1}, 1, false});
  y = b.add(b.transpose(y, {2, 0, 1}), n.in("bias", type));
  n.out(y);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The gradient of the kernel of an ordinary convolution of `x` that gave `gradient`: batch and
/// channels change places, strides and dilations too. Groups stay groups of one convolution,
/// however many there are: images of a group are its channels.
Value kernelGradient(HloBuilder &b, Value x, Value gradient, ArrayRef<int64_t> kernel,
                     const Options &o) {
  Dims shape(H::shapeOf(x));
  int64_t groups = o.groups, batch = shape[0], spatial = int64_t(kernel.size()) - 2;
  int64_t in = shape[1] / groups;
  H::Convolution how;
  how.groups = groups;
  for (int64_t i = 0; i < spatial; ++i) {
    // Kernel positions the sliding gradient must reach: as many as the kernel has.
    int64_t size = shape[i + 2], grad = H::shapeOf(gradient)[i + 2];
    int64_t reach = grad == 0 ? 0 : (grad - 1) * o.strides[i] + 1;
    int64_t needed = (kernel[i + 2] - 1) * o.dilations[i] + reach;
    how.strides.push_back(o.dilations[i]);
    how.kernelDilations.push_back(o.strides[i]);
    how.low.push_back(o.low[i]);
    how.high.push_back(needed - size - o.low[i]);
  }
  // [N, G * I, ...] -> [I, G * N, ...].
  Dims apart{batch, groups, in}, turned{2, 1, 0}, together{in, groups * batch}, order{1, 0};
  for (int64_t i = 0; i < spatial; ++i) {
    apart.push_back(shape[i + 2]);
    turned.push_back(i + 3);
    together.push_back(shape[i + 2]);
    order.push_back(i + 2);
  }
  Value images = groups == 1 ? b.transpose(x, order)
                             : b.reshape(b.transpose(b.reshape(x, apart), turned), together);
  Value found =
      convolvePlain(b, images, b.transpose(gradient, order), how); // [I, G * O, kernel...]
  return b.transpose(found, order);
}

/// The gradient of the operand of an ordinary convolution.
Value operandGradient(HloBuilder &b, ArrayRef<int64_t> x, Value gradient, Value kernel,
                      const Options &o) {
  Options back = o;
  back.transposed = true;
  back.outputPadding.clear();
  for (size_t i = 0; i < o.strides.size(); ++i) {
    int64_t natural = (H::shapeOf(gradient)[i + 2] - 1) * o.strides[i] - o.low[i] - o.high[i] +
                      (H::shapeOf(kernel)[i + 2] - 1) * o.dilations[i] + 1;
    back.outputPadding.push_back(x[i + 2] - natural);
  }
  return convolve(b, gradient, kernel, back);
}

void lowerBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value gradient = n.in("grad_output", type), x = n.in("input", type),
        kernel = n.in("weight", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(kernel);
  if (H::rankOf(x) != rank || H::rankOf(gradient) != rank || rank < 3)
    return n.fail("grad_output, input and weight differ in rank");
  bool transposed = n.flag("transposed");
  std::optional<Options> o = readOptions(n, kernel, transposed);
  if (!o)
    return;
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(3, false);
  bool empty = isEmpty(x) || isEmpty(kernel) || isEmpty(gradient);
  auto zeros = [&](size_t i) { return b.splat(0, type, n.resultShape(i)); };
  if (mask[0]) {
    if (empty) {
      n.out(0, zeros(0));
    } else if (transposed) {
      Options forward = *o;
      forward.transposed = false;
      // The forward kernel of the gradient is the same [in, out/g] one, read as [O, I/g].
      Value result = convolve(b, gradient, conjugate(b, kernel), forward);
      n.out(0, result);
    } else {
      n.out(0, operandGradient(b, H::shapeOf(x), gradient, conjugate(b, kernel), *o));
    }
  }
  if (mask[1]) {
    if (empty) {
      n.out(1, zeros(1));
    } else if (transposed) {
      Options forward = *o;
      n.out(1, kernelGradient(b, conjugate(b, gradient), x, H::shapeOf(kernel), forward));
      if (H::isComplex(x))
        n.notYet("complex transposed convolution");
    } else {
      n.out(1, kernelGradient(b, conjugate(b, x), gradient, H::shapeOf(kernel), *o));
    }
  }
  if (mask[2]) {
    Dims dims{0};
    for (int64_t i = 2; i < rank; ++i)
      dims.push_back(i);
    n.out(2, b.reduce(gradient, dims, Fold::Add));
  }
}

//===----------------------------------------------------------------------===//
// Patches
//===----------------------------------------------------------------------===//

struct Patches {
  Dims kernel, dilation, padding, stride, blocks;
};

std::optional<Patches> readPatches(Node &n, ArrayRef<int64_t> spatial) {
  Patches p;
  p.kernel = n.repeated("kernel_size", 2);
  p.dilation = n.repeated("dilation", 2, {1});
  p.padding = n.repeated("padding", 2, {0});
  p.stride = n.repeated("stride", 2, {1});
  if (n.failed())
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (p.stride[i] < 1 || p.dilation[i] < 1 || p.kernel[i] < 1) {
      n.fail("kernel_size, stride and dilation should be positive");
      return std::nullopt;
    }
    int64_t room = spatial[i] + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1;
    p.blocks.push_back(room < 0 ? 0 : room / p.stride[i] + 1);
  }
  return p;
}

void lowerIm2col(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x);
  if (rank != 3 && rank != 4)
    return n.fail("takes [C, H, W] or [N, C, H, W]");
  if (rank == 3)
    x = b.unsqueeze(x, 0);
  std::optional<Patches> p = readPatches(n, H::shapeOf(x).take_back(2));
  if (!p)
    return;
  int64_t batch = H::shapeOf(x)[0], channels = H::shapeOf(x)[1];
  Value zero = b.splat(0, H::elementOf(x));
  Value padded =
      b.pad(x, zero, {0, 0, p->padding[0], p->padding[1]}, {0, 0, p->padding[0], p->padding[1]});
  SmallVector<Value> pieces;
  int64_t count = p->blocks[0] * p->blocks[1];
  for (int64_t i = 0; i < p->kernel[0]; ++i)
    for (int64_t j = 0; j < p->kernel[1]; ++j) {
      int64_t r = i * p->dilation[0], c = j * p->dilation[1];
      Value piece = b.slice(padded, {0, 0, r, c},
                            {batch, channels, r + (p->blocks[0] - 1) * p->stride[0] + 1,
                             c + (p->blocks[1] - 1) * p->stride[1] + 1},
                            {1, 1, p->stride[0], p->stride[1]});
      pieces.push_back(b.reshape(piece, {batch, channels, 1, count}));
    }
  n.out(b.reshape(b.concatenate(pieces, 2), n.resultShape()));
}

void lowerCol2im(Node &n) {
  HloBuilder &b = n.b;
  Type element = n.resultElement(), type = n.computeType(element);
  Value x = n.in("self", type);
  Dims size = n.repeated("output_size", 2);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x);
  if (rank != 2 && rank != 3)
    return n.fail("takes [C * kernel, L] or [N, C * kernel, L]");
  if (rank == 2)
    x = b.unsqueeze(x, 0);
  std::optional<Patches> p = readPatches(n, size);
  if (!p)
    return;
  int64_t batch = H::shapeOf(x)[0], window = p->kernel[0] * p->kernel[1],
          channels = H::shapeOf(x)[1] / window;
  if (H::shapeOf(x)[1] % window || H::shapeOf(x)[2] != p->blocks[0] * p->blocks[1])
    return n.fail("the patches do not fit output_size");
  Value apart = b.reshape(x, {batch, channels, window, p->blocks[0], p->blocks[1]});
  Value zero = b.splat(0, type), sum;
  int64_t height = size[0] + 2 * p->padding[0], width = size[1] + 2 * p->padding[1];
  for (int64_t i = 0; i < p->kernel[0]; ++i)
    for (int64_t j = 0; j < p->kernel[1]; ++j) {
      int64_t at = i * p->kernel[1] + j, r = i * p->dilation[0], c = j * p->dilation[1];
      Value piece = b.reshape(b.sliceDim(apart, 2, at, at + 1),
                              {batch, channels, p->blocks[0], p->blocks[1]});
      int64_t spreadR = (p->blocks[0] - 1) * p->stride[0] + 1,
              spreadC = (p->blocks[1] - 1) * p->stride[1] + 1;
      Value spread =
          b.pad(piece, zero, {0, 0, r, c}, {0, 0, height - r - spreadR, width - c - spreadC},
                {0, 0, p->stride[0] - 1, p->stride[1] - 1});
      sum = sum ? b.add(sum, spread) : spread;
    }
  Value image = b.slice(sum, {0, 0, p->padding[0], p->padding[1]},
                        {batch, channels, p->padding[0] + size[0], p->padding[1] + size[1]});
  n.out(b.reshape(image, n.resultShape()));
}

} // namespace

void registerConvolution(OpTable &table) {
  auto plain = [](Node &n) { lower(n, false); };
  auto transposed = [](Node &n) { lower(n, true); };
  auto either = [](Node &n) { lower(n, n.flag("transposed")); };
  table.add("aten.conv1d", plain);
  table.add("aten.conv2d", plain);
  table.add("aten.conv3d", plain);
  table.add("aten.conv_transpose1d", transposed);
  table.add("aten.conv_transpose2d", transposed);
  table.add("aten.conv_transpose3d", transposed);
  table.add("aten.convolution", either);
  table.add("aten.convolution_overrideable", either);
  table.add("aten._convolution", either);
  table.add("aten.conv_tbc", lowerConvTbc);
  table.add("aten.convolution_backward", lowerBackward);
  table.add("aten.im2col", lowerIm2col);
  table.add("aten.col2im", lowerCol2im);
}

} // namespace cupel::frontends::torch_import
