#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"
#include "cupel/kernels/Units.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace cupel::kernels {
namespace {

/// One call of convolvePixels.
struct Work {
  const PackedConvolution &weights;
  const ConvolutionShape &shape;
  const KernelTable &kernels;
  PanelCut cut; // Of a group.
  Spatial output;
  int64_t taps, inputs; // Input channels of a group.
  const float *input, *zeros;
  float *c;
  int64_t ldc;
  const Epilogue &epilogue;
  const ByteSides *bytes;
};

/// to[i] for pixels that follow each other on a line of the result: where the channels of a tap lie, whose first one is at column `x` of a line of the
/// input; null for a line that lies outside.
void findAlongLine(const Work &work, const float *line, int64_t x, int64_t count, const float **to) {
  int64_t stride = work.shape.strides[2], size = work.shape.input[2], channels = work.shape.inputChannels;
  // Pixels [begin, end) lie inside.
  int64_t begin = x >= 0 ? 0 : std::min(count, (-x + stride - 1) / stride);
  int64_t end = x >= size ? 0 : std::min(count, (size - x + stride - 1) / stride);
  if (!line || begin >= end)
    begin = end = 0;
  std::fill(to, to + begin, work.zeros);
  for (int64_t i = begin; i < end; ++i)
    to[i] = line + (x + i * stride) * channels;
  std::fill(to + end, to + count, work.zeros);
}

/// rows[tap * count + i]: where the channels of pixel i's tap lie. For inputs that are not dilated.
/// Whether whole lines of the kernel lie outside for some pixels.
bool findRows(const Work &work, int64_t group, int64_t row, int64_t count, const float **rows) {
  bool isAtTheEdge = false;
  const ConvolutionShape &shape = work.shape;
  const Spatial &size = shape.input, &step = shape.kernelDilation;
  const float *input = work.input + group * work.inputs;
  for (int64_t i = 0; i < count;) {
    Pixel pixel = pixelOf(work.output, row + i);
    int64_t many = std::min(count - i, work.output[2] - pixel.at[2]);
    Spatial first;
    for (int d = 0; d < 3; ++d)
      first[d] = pixel.at[d] * shape.strides[d] - shape.paddingLow[d];
    const float **to = rows + i;
    for (int64_t kz = 0, z = first[0]; kz < shape.kernel[0]; ++kz, z += step[0])
      for (int64_t ky = 0, y = first[1]; ky < shape.kernel[1]; ++ky, y += step[1]) {
        bool hasLine = z >= 0 && z < size[0] && y >= 0 && y < size[1];
        const float *line =
            hasLine ? input + ((pixel.image * size[0] + z) * size[1] + y) * size[2] * shape.inputChannels
                    : nullptr;
        isAtTheEdge = isAtTheEdge || !hasLine;
        for (int64_t kx = 0, x = first[2]; kx < shape.kernel[2]; ++kx, x += step[2], to += count)
          findAlongLine(work, line, x, many, to);
      }
    i += many;
  }
  return isAtTheEdge;
}

/// Asks for the lines of the input that some pixels of one image need, where threads meet: some of
/// them lie in another core's cache.
void fetchLines(const Work &work, int64_t row, int64_t endRow) {
  Pixel first = pixelOf(work.output, row), last = pixelOf(work.output, endRow - 1);
  const ConvolutionShape &shape = work.shape;
  if (first.image != last.image || shape.input[0] > 1)
    return;
  int64_t low = first.at[1] * shape.strides[1] - shape.paddingLow[1];
  int64_t high = last.at[1] * shape.strides[1] - shape.paddingLow[1] +
                 (shape.kernel[1] - 1) * shape.kernelDilation[1] + 1;
  low = std::clamp<int64_t>(low, 0, shape.input[1]),
  high = std::clamp<int64_t>(high, low, shape.input[1]);
  int64_t line = shape.input[2] * shape.inputChannels;
  fetchNear(work.input + (first.image * shape.input[1] + low) * line,
            (high - low) * line * int64_t{sizeof(float)});
}

/// Pixels of a line of the result that lie at the same place between pixels of a dilated input:
/// every so many of them, beginning with `row` of the unit.
struct Run {
  int64_t image;
  Spatial whole,
      place; // Of the first: whole dilations from the first pixel, and how far behind them.
  int64_t row, count;
  bool isComputed;
};

/// Of the rows of a unit. How many there are.
int64_t findRuns(const Work &work, int64_t row, int64_t count, Run *runs) {
  const Spatial &dilation = work.shape.inputDilation;
  int64_t found = 0;
  for (int64_t i = 0; i < count;) {
    Pixel pixel = pixelOf(work.output, row + i);
    int64_t many = std::min(count - i, work.output[2] - pixel.at[2]);
    for (int64_t j = 0; j < std::min(many, dilation[2]); ++j) {
      Run &run = runs[found++];
      run = {pixel.image, {}, {}, i + j, (many - j + dilation[2] - 1) / dilation[2], false};
      for (int d = 0; d < 3; ++d) {
        int64_t at = pixel.at[d] + (d == 2 ? j : 0);
        run.whole[d] = at / dilation[d], run.place[d] = at % dilation[d];
      }
    }
    i += many;
  }
  return found;
}

/// The most of them, of so many rows.
int64_t mostRuns(const Work &work, int64_t count) {
  int64_t lines = count / std::max<int64_t>(1, work.output[2]) + 2,
          each = std::min(count, work.shape.inputDilation[2]);
  return std::min(count, lines * each);
}

/// Where the first whole place of a phase meets a tap, in pixels of the input along a dimension; nothing where the
/// tap lies between pixels.
std::optional<int64_t> meetingOf(const ConvolutionShape &shape, int d, int64_t place, int64_t tap) {
  int64_t at = place * shape.strides[d] - shape.paddingLow[d] + tap * shape.kernelDilation[d];
  if (at % shape.inputDilation[d] != 0)
    return std::nullopt;
  return at / shape.inputDilation[d];
}

/// rows[tap * count + i] for the pixels of runs of one phase, which all meet the same taps.
void findRowsOf(const Work &work, int64_t group, const Spatial &place, const Run *runs,
                const int64_t *chosen, int64_t runCount, int64_t count, const int32_t *tapIndices,
                int64_t taps, const float **rows) {
  const ConvolutionShape &shape = work.shape;
  const float *input = work.input + group * work.inputs;
  for (int64_t t = 0; t < taps; ++t) {
    Spatial tap = pixelOf(shape.kernel, tapIndices[t]).at, first = {};
    bool meets = true;
    for (int d = 0; d < 3; ++d) {
      std::optional<int64_t> meeting = meetingOf(shape, d, place[d], tap[d]);
      meets = meets && meeting;
      first[d] = meeting.value_or(0);
    }
    const float **to = rows + t * count;
    for (int64_t i = 0; i < runCount; ++i) {
      const Run &run = runs[chosen[i]];
      int64_t z = run.whole[0] * shape.strides[0] + first[0],
              y = run.whole[1] * shape.strides[1] + first[1];
      bool hasLine = meets && z >= 0 && z < shape.input[0] && y >= 0 && y < shape.input[1];
      const float *line = hasLine
                              ? input + ((run.image * shape.input[0] + z) * shape.input[1] + y) *
                                            shape.input[2] * shape.inputChannels
                              : nullptr;
      findAlongLine(work, line, run.whole[2] * shape.strides[2] + first[2], run.count, to);
      to += run.count;
    }
  }
}

/// Rows of a phase, to where they belong.
void copyRun(const float *from, int64_t fromStride, int64_t count, int64_t columns, float *to,
             int64_t toStride) {
  constexpr int64_t kPiece = 16;
  for (int64_t i = 0; i < count; ++i, from += fromStride, to += toStride) {
    int64_t k = 0;
    for (; k + kPiece <= columns; k += kPiece)
      std::memcpy(to + k, from + k, kPiece * sizeof(float));
    for (; k < columns; ++k)
      to[k] = from[k];
  }
}

RowsTimesPanels describe(const Work &work, int64_t group, int64_t firstPanel, int64_t endPanel) {
  int64_t depth = work.taps * work.inputs;
  RowsTimesPanels part = {};
  part.depth = work.inputs;
  part.cut = work.cut;
  part.panels = ConvolutionAccess::data(work.weights) + group * work.cut.size(depth);
  part.panelDepth = depth;
  part.firstPanel = firstPanel;
  part.endPanel = endPanel;
  part.panelAfter = -1;
  part.column = group * work.cut.columns;
  part.epilogue = &work.epilogue;
  part.hasIntegers = work.shape.hasIntegers;
  part.hasPairs = work.shape.hasPairs;
  part.bytes = work.bytes;
  return part;
}

void convolveUnit(const Work &work, int64_t group, int64_t row, int64_t endRow, int64_t firstPanel,
                  int64_t endPanel) {
  ScratchFrame frame;
  int64_t count = endRow - row;
  auto *taps = frame.take<int32_t>(work.taps);
  std::iota(taps, taps + work.taps, 0);
  auto **rows = frame.take<const float *>(count * work.taps);
  bool isAtTheEdge = findRows(work, group, row, count, rows);
  RowsTimesPanels part = describe(work, group, firstPanel, endPanel);
  part.rows = rows;
  part.rowCount = count;
  part.taps = work.taps;
  part.tapIndices = taps;
  // What is not there need not be multiplied by weights that cannot make a NaN of zero, and bytes not where they are
  // zero as they are multiplied.
  bool areZeros = work.bytes ? work.bytes->filler == 0 && !work.bytes->isMoved : ConvolutionAccess::isFinite(work.weights);
  bool skips = work.taps > 1 && isAtTheEdge && areZeros;
  part.zeros = skips ? work.zeros : nullptr;
  part.c = work.c ? work.c + row * work.ldc + part.column : nullptr;
  part.ldc = work.ldc;
  part.row = row;
  multiplyUnit(work.kernels, part);
}

/// Where rows of some channels of the result go: there, or to a place of their own where nobody keeps them.
struct Block {
  float *at;
  int64_t stride;

  Block(const Work &work, int64_t row, int64_t rows, int64_t column, int64_t columns, ScratchFrame &frame)
      : at(work.c ? work.c + row * work.ldc + column : frame.take<float>(rows * columns)),
        stride(work.c ? work.ldc : columns) {}
};

/// With a dilated input, pixels at the same place between input pixels meet the same taps, and no
/// others: each such phase is computed beside the result and its rows are copied there.
void convolvePhases(const Work &work, int64_t group, int64_t row, int64_t endRow,
                    int64_t firstPanel, int64_t endPanel) {
  const ConvolutionShape &shape = work.shape;
  ScratchFrame frame;
  int64_t count = endRow - row;
  auto *runs = frame.take<Run>(mostRuns(work, count));
  int64_t runCount = findRuns(work, row, count, runs);
  auto *chosen = frame.take<int64_t>(runCount);
  auto *taps = frame.take<int32_t>(work.taps);
  auto **rows = frame.take<const float *>(count * work.taps);
  auto *result = frame.take<float>(count * work.cut.columns);
  Epilogue biasOnly;
  biasOnly.bias = work.epilogue.bias;
  RowsTimesPanels part = describe(work, group, firstPanel, endPanel);
  part.rows = rows;
  part.tapIndices = taps;
  part.c = result;
  part.ldc = work.cut.columns;
  part.epilogue = &biasOnly;
  int64_t begin = work.cut.columnOf(firstPanel);
  int64_t end = work.cut.columnOf(endPanel - 1) + work.cut.columnsOf(endPanel - 1);
  Block block(work, row, count, part.column + begin, end - begin, frame);
  // Only phases that pixels have: pixels may lie billions apart.
  for (int64_t first = 0; first < runCount; ++first) {
    if (runs[first].isComputed)
      continue;
    const Spatial place = runs[first].place;
    int64_t found = 0, chosenCount = 0;
    for (int64_t i = first; i < runCount; ++i)
      if (runs[i].place == place) {
        chosen[chosenCount++] = i, found += runs[i].count;
        runs[i].isComputed = true;
      }
    int64_t used = 0;
    for (int64_t tap = 0; tap < work.taps; ++tap) {
      Spatial of = pixelOf(shape.kernel, tap).at;
      bool meets = true;
      for (int d = 0; d < 3; ++d)
        meets = meets && meetingOf(shape, d, place[d], of[d]);
      // Zeros between pixels make a NaN of an infinite weight.
      if (meets || !ConvolutionAccess::isFinite(work.weights))
        taps[used++] = static_cast<int32_t>(tap);
    }
    findRowsOf(work, group, place, runs, chosen, chosenCount, found, taps, used, rows);
    part.rowCount = found;
    part.taps = used;
    multiplyRows(work.kernels, part);
    const float *from = result + begin;
    for (int64_t i = 0; i < chosenCount; ++i) {
      const Run &run = runs[chosen[i]];
      int64_t step = run.count > 1 ? shape.inputDilation[2] * block.stride
                                   : 0; // To one alone there is none, however far it would be.
      copyRun(from, part.ldc, run.count, end - begin, block.at + run.row * block.stride, step);
      from += run.count * part.ldc;
    }
  }
  work.epilogue.complete(work.kernels, false, block.at, block.stride, row, count, part.column + begin,
                         end - begin);
}

/// Vectors of channels [firstBlock, endBlock) of some pixels, where groups are small.
void convolveGroupsUnit(const Work &work, GroupedFunction function, int64_t row, int64_t endRow,
                        int64_t firstBlock, int64_t endBlock) {
  ScratchFrame frame;
  const int64_t count = endRow - row, width = work.kernels.width, firstChannel = firstBlock * width,
                endChannel = std::min(endBlock * width, work.shape.outputChannels);
  auto **rows = frame.take<const float *>(count * work.taps);
  findRows(work, 0, row, count, rows);
  const Epilogue &end = work.epilogue;
  const bool hasPlace = work.c || (end.finish && end.finish->narrow && !end.function);
  float *to = work.c ? work.c + row * work.ldc + firstChannel : hasPlace ? nullptr : frame.take<float>(count * (endChannel - firstChannel));
  const int64_t stride = work.c ? work.ldc : endChannel - firstChannel, perBlock = work.taps * (work.inputs / work.shape.groups) * width;
  for (int64_t block = firstBlock; block < endBlock; ++block) {
    const int64_t channel = block * width;
    function({rows, count, work.shape.hasPairs ? channel / 2 : channel, std::min(width, endChannel - channel), work.taps,
              ConvolutionAccess::data(work.weights) + block * perBlock, count, to ? to + (channel - firstChannel) : nullptr, stride,
              end.bias ? end.bias + channel : nullptr, end.finish, row, channel});
  }
  if (end.function)
    end.complete(work.kernels, true, to, stride, row, count, firstChannel, endChannel - firstChannel);
}

/// Without padding or strides the pixels of all images are the rows of a matrix.
bool isProduct(const ConvolutionShape &shape) {
  return shape.groups == 1 && product(shape.kernel) == 1 && shape.output() == shape.input &&
         shape.strides == Spatial{1, 1, 1} && shape.paddingLow == Spatial{} &&
         shape.inputDilation == Spatial{1, 1, 1};
}

} // namespace

void multiplyUnit(const KernelTable &kernels, RowsTimesPanels part) {
  const Epilogue &end = *part.epilogue;
  if (part.c || !end.takesUnits)
    return multiplyRows(kernels, part);
  ScratchFrame frame;
  Epilogue steps = end;
  steps.function = nullptr;
  part.epilogue = &steps;
  part.ldc = part.cut.widthOf(0);
  auto *block = frame.take<float>(part.rowCount * part.ldc);
  const int64_t endPanel = part.endPanel, panelAfter = part.panelAfter;
  for (int64_t panel = part.firstPanel; panel < endPanel; ++panel) {
    part.firstPanel = panel;
    part.endPanel = panel + 1;
    part.panelAfter = panel + 1 < endPanel ? panel + 1 : panelAfter;
    part.c = block - part.cut.columnOf(panel);
    multiplyRows(kernels, part);
    end.function(end.operands, block, part.ldc, part.row, part.rowCount, part.column + part.cut.columnOf(panel), part.cut.columnsOf(panel));
  }
}

void convolvePixels(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                    const Epilogue &epilogue, const Pool &pool, const ByteSides *bytes) {
  const ConvolutionShape &shape = weights.shape();
  const bool takesUnits = !c && epilogue.takesUnits;
  if (isProduct(shape) && !takesUnits) {
    PanelProduct product{shape.rows(),
                         {image.wide, shape.inputChannels},
                         shape.inputChannels,
                         ConvolutionAccess::cut(weights),
                         ConvolutionAccess::data(weights),
                         0,
                         c,
                         ldc,
                         0,
                         &epilogue};
    product.hasIntegers = shape.hasIntegers;
    product.bytes = bytes;
    product.isImage = true;
    if (shape.hasPairs) {
      product.depth = product.a.rowStride = ConvolutionAccess::roundedChannels(weights);
      product.hasPairs = true;
      product.narrow = image.narrow;
      product.isRounded = !image.narrow;
    }
    multiplyPanels(ConvolutionAccess::kernels(weights), &product, 1, pool);
    return;
  }
  ScratchFrame frame;
  const float *input = shape.hasPairs ? roundedImage(weights, image, frame, pool) : image.wide;
  Work work{weights,
            shape,
            ConvolutionAccess::kernels(weights),
            ConvolutionAccess::cut(weights),
            shape.output(),
            product(shape.kernel),
            shape.inputChannels / shape.groups,
            input,
            nullptr,
            c,
            ldc,
            epilogue,
            bytes};
  GroupedFunction grouped = groupedFunction(shape, work.kernels);
  if (grouped)
    work.inputs = shape.inputChannels; // A row holds all groups.
  auto *zeros = frame.take<float>(work.inputs);
  std::memset(zeros, bytes ? bytes->filler : 0, static_cast<size_t>(work.inputs) * sizeof(float));
  work.zeros = zeros;
  bool isDilated = shape.inputDilation != Spatial{1, 1, 1};
  int64_t rows = shape.rows();
  double nanoseconds = convolutionNanoseconds(shape);
  // Pointers to all taps of a unit's pixels are kept.
  constexpr int64_t kMostPointers = int64_t{1} << 20;
  int64_t mostRows =
      std::clamp<int64_t>(kMostPointers / std::max<int64_t>(1, work.taps), 8, 128);
  // A unit has as many rows of each phase as of an image without any, as long as its sums stay in a
  // near cache.
  constexpr int64_t kPhaseFloats = 32768;
  int64_t most = std::min(kMostPointers / std::max<int64_t>(1, work.taps),
                          kPhaseFloats / std::max<int64_t>(1, work.cut.columns));
  int64_t phases = std::max<int64_t>(1, most / mostRows);
  phases = static_cast<int64_t>(std::min(static_cast<double>(phases), phaseCount(shape)));
  int64_t groups = grouped ? 1 : shape.groups;
  int64_t panels = grouped ? (shape.outputChannels + work.kernels.width - 1) / work.kernels.width : work.cut.count;
  PanelCut cut = grouped ? PanelCut{panels * work.kernels.width, panels, work.kernels.width} : work.cut;
  int64_t weightBytes = cut.size(work.taps * shape.inputChannels / groups) * int64_t{sizeof(float)} / (shape.hasPairs ? 2 : 1);
  UnitWork shared{(rows + phases - 1) / phases, mostRows, cut, groups, weightBytes, pool.threadsFor(nanoseconds), nanoseconds,
                  isDilated || grouped ? 1 : rowStepOf(work.kernels, shape.hasPairs, bytes)};
  UnitGrid grid = planUnits(shared);
  shared.rows = rows; // Of all phases.
  keepLines(grid, shared);
  int64_t units = grid.count() * groups;
  // Whole lines of memory of what is written channel by channel.
  constexpr int64_t kLine = 16, kFewestRows = 64;
  if (takesUnits && rows >= grid.rowParts * kFewestRows)
    grid.rowStep = std::lcm(grid.rowStep, kLine);
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    int64_t group = unit % groups, part = unit / groups;
    int64_t panelPart = grid.panelPartOf(part), rowPart = grid.rowPartOf(part);
    int64_t row = grid.rowOf(rowPart, rows), endRow = grid.rowOf(rowPart + 1, rows);
    int64_t first = panels * panelPart / grid.panelParts;
    int64_t end = panels * (panelPart + 1) / grid.panelParts;
    if (grid.rowsFirst && !isDilated && work.taps > 1 && pool.isAtEdge(unit, units))
      fetchLines(work, row, endRow);
    if (grouped)
      convolveGroupsUnit(work, grouped, row, endRow, first, end);
    else if (isDilated)
      convolvePhases(work, group, row, endRow, first, end);
    else
      convolveUnit(work, group, row, endRow, first, end);
  });
}

} // namespace cupel::kernels
