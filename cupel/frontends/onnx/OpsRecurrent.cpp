// Scan and the recurrent layers.

#include "cupel/frontends/onnx/Repeat.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

// Where a body has to be written out although its trips are many.
constexpr int64_t kMaxWrittenOut = 2048;

/// What Scan goes over, and how.
struct Scan {
  const proto::GraphProto *body;
  int64_t states, outputs, trips = 0;
  SmallVector<Item> state;
  SmallVector<Value> inputs;
  Dims inAxes, inReverse;
};

struct Scanned {
  SmallVector<Item> state;
  SmallVector<Value> stacked; // On dimension 0.
};

/// Entries of what is scanned in one trip.
SmallVector<Item> entries(HloBuilder &b, const Scan &scan, Value index, int64_t known) {
  SmallVector<Item> result;
  for (auto [i, value] : llvm::enumerate(scan.inputs)) {
    Item item;
    int64_t at = known;
    Value place = index;
    if (scan.inReverse[i]) {
      at = known < 0 ? known : scan.trips - 1 - known;
      if (known < 0)
        place = b.subtract(b.splatInteger(scan.trips - 1, b.i64()), index);
    }
    item.value = entryAt(b, value, scan.inAxes[i], place, at);
    result.push_back(item);
  }
  return result;
}

Result<Scanned> scanWrittenOut(Node &n, const Scan &scan) {
  HloBuilder &b = n.b;
  Scanned result;
  result.state = scan.state;
  SmallVector<SmallVector<Value>> stacked(scan.outputs);
  for (int64_t trip = 0; trip < scan.trips; ++trip) {
    SmallVector<Item> arguments(result.state);
    arguments.append(entries(b, scan, Value(), trip));
    ONNX_LET(made, n.inlineGraph(*scan.body, arguments));
    for (Item &item : made)
      if (!item.isTensor())
        return n.refuse(ErrorCode::Sequences, "its body gives sequences");
    for (int64_t i = 0; i < scan.states; ++i)
      result.state[i] = made[i];
    for (int64_t i = 0; i < scan.outputs; ++i) {
      Value value = b.unsqueeze(n.materialize(made[scan.states + i]), 0);
      if (!stacked[i].empty() && stacked[i].front().getType() != value.getType())
        return n.error("what it stacks changes its shape from trip to trip");
      stacked[i].push_back(value);
    }
  }
  for (SmallVector<Value> &values : stacked)
    result.stacked.push_back(b.concatenate(values, 0));
  return result;
}

Result<Scanned> scanWhile(Node &n, const Scan &scan) {
  SmallVector<Value> carried;
  for (Item item : scan.state)
    carried.push_back(n.materialize(item));
  auto step = [&](Value index, int64_t known, ArrayRef<Value> state) -> Result<Trip> {
    SmallVector<Item> arguments(state.size());
    for (auto [item, value] : llvm::zip(arguments, state))
      item.value = value;
    arguments.append(entries(n.b, scan, index, known));
    ONNX_LET(made, n.inlineGraph(*scan.body, arguments));
    Trip trip;
    for (auto [i, item] : llvm::enumerate(made)) {
      if (!item.isTensor())
        return n.refuse(ErrorCode::Sequences, "its body gives sequences");
      (int64_t(i) < scan.states ? trip.carried : trip.stacked).push_back(n.materialize(item));
    }
    return trip;
  };
  ONNX_LET(made, writeWhile(n, scan.trips, false, Value(), carried, step));
  Scanned result;
  for (Value value : made.carried) {
    result.state.emplace_back();
    result.state.back().value = value;
  }
  result.stacked = made.stacked;
  return result;
}

Result<Scanned> runScan(Node &n, const Scan &scan) {
  if (scan.trips <= kWrittenOut)
    return scanWrittenOut(n, scan);
  Result<Scanned> result = scanWhile(n, scan);
  // A body whose shapes depend on the trip must be written out.
  if (result || scan.trips > kMaxWrittenOut)
    return result;
  n.forgive();
  return scanWrittenOut(n, scan);
}

Status lowerScan(Node &n) {
  HloBuilder &b = n.b;
  Scan scan;
  scan.body = n.graph("body");
  // Opset 8 has sequence lengths first, and a batch dimension before everything.
  bool batched = n.opset < 9;
  int64_t first = batched ? 1 : 0, scanned = n.integer("num_scan_inputs", 0);
  scan.states = int64_t(n.inputCount()) - first - scanned;
  if (!scan.body || scanned < 1 || scan.states < 0 || scanned > int64_t(n.inputCount()) ||
      scan.body->input_size() != int64_t(n.inputCount()) - first ||
      scan.body->output_size() < scan.states)
    return n.error("its body does not fit its operands");
  for (size_t i = first; i < n.inputCount(); ++i)
    if (!n.has(i) || !n.item(i).isTensor())
      return n.refuse(ErrorCode::Sequences, "takes tensors");
  scan.outputs = scan.body->output_size() - scan.states;
  auto list = [&](StringRef name, int64_t count) {
    return n.hasAttribute(name) ? n.integers(name) : Dims(count, 0);
  };
  Dims inAxes = list("scan_input_axes", scanned), outAxes = list("scan_output_axes", scan.outputs),
       outReverse = list("scan_output_directions", scan.outputs);
  scan.inReverse = list(batched ? "directions" : "scan_input_directions", scanned);
  if (int64_t(inAxes.size()) != scanned || int64_t(scan.inReverse.size()) != scanned ||
      int64_t(outAxes.size()) != scan.outputs || int64_t(outReverse.size()) != scan.outputs)
    return n.error("its axes or directions are not one a scanned value");
  if (batched && n.rank(first) < 1)
    return n.error("its operands lack the batch");
  int64_t batches = batched ? n.shape(first)[0] : 1;
  if (batches < 1 || batches > kMaxWrittenOut)
    return n.refuse(ErrorCode::NotYet, fmt::format("{} batches are not written out", batches));
  Dims lengths;
  if (batched && n.has(0)) {
    ONNX_LET(known, n.knownIntegers(0, "the lengths of its sequences"));
    lengths = known;
    if (int64_t(lengths.size()) != batches)
      return n.error("its lengths are not one a batch");
  }
  SmallVector<SmallVector<Value>> results(scan.body->output_size());
  for (int64_t batch = 0; batch < batches; ++batch) {
    scan.state.clear();
    scan.inputs.clear();
    scan.inAxes.clear();
    int64_t size = -1;
    for (int64_t i = 0; i < scan.states + scanned; ++i) {
      Item item = n.item(first + i);
      if (batched) {
        Value all = n.in(first + i);
        if (HloBuilder::rankOf(all) < 1 || HloBuilder::shapeOf(all)[0] != batches)
          return n.error("its operands differ in the batch");
        item = Item();
        item.value = entryAt(b, all, 0, Value(), batch);
      }
      if (i < scan.states) {
        scan.state.push_back(item);
        continue;
      }
      Value value = batched ? item.value : n.in(first + i);
      ONNX_LET(axis, n.axis(inAxes[i - scan.states], HloBuilder::rankOf(value)));
      scan.inAxes.push_back(axis);
      int64_t mine = HloBuilder::shapeOf(value)[axis];
      if (size >= 0 && mine != size)
        return n.error("what it scans differs in length");
      size = mine;
      scan.inputs.push_back(value);
    }
    scan.trips = lengths.empty() ? size : lengths[batch];
    if (scan.trips < 1 || scan.trips > size)
      return n.refuse(ErrorCode::NotYet, fmt::format("{} trips over {} entries", scan.trips, size));
    ONNX_LET(made, runScan(n, scan));
    for (int64_t i = 0; i < scan.states; ++i)
      results[i].push_back(n.materialize(made.state[i]));
    for (int64_t i = 0; i < scan.outputs; ++i) {
      Value all = made.stacked[i];
      int64_t rank = HloBuilder::rankOf(all);
      ONNX_LET(axis, n.axis(outAxes[i], rank));
      if (outReverse[i])
        all = b.reverse(all, {0});
      // Sequences that end early are filled up with zeros.
      Dims none(rank, 0), fill(rank, 0);
      fill[0] = size - scan.trips;
      all = b.pad(all, b.splat(0, HloBuilder::elementOf(all)), none, fill);
      Dims order = dimsFrom(1, rank);
      order.insert(order.begin() + axis, 0);
      results[scan.states + i].push_back(b.transpose(all, order));
    }
  }
  for (auto [i, values] : llvm::enumerate(results)) {
    if (!batched) {
      n.out(i, values[0]);
      continue;
    }
    for (Value &one : values)
      one = b.unsqueeze(one, 0);
    n.out(i, b.concatenate(values, 0));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// RNN, GRU, LSTM
//===----------------------------------------------------------------------===//

struct Activation {
  std::string name;
  double alpha, beta;
};

Result<Value> activate(Node &n, const Activation &how, Value x) {
  HloBuilder &b = n.b;
  auto c = [&](double number) { return b.like(x, number); };
  std::string name = StringRef(how.name).lower();
  if (name == "tanh")
    return b.tanh(x);
  if (name == "sigmoid")
    return b.logistic(x);
  if (name == "relu")
    return relu(b, x);
  if (name == "affine")
    return b.add(b.multiply(x, c(how.alpha)), c(how.beta));
  if (name == "leakyrelu")
    return leakyRelu(b, x, how.alpha);
  if (name == "thresholdedrelu")
    return b.select(b.greater(x, c(how.alpha)), x, c(0));
  if (name == "scaledtanh")
    return b.multiply(c(how.alpha), b.tanh(b.multiply(c(how.beta), x)));
  if (name == "hardsigmoid")
    return hardSigmoid(b, x, how.alpha, how.beta);
  if (name == "elu")
    return elu(b, x, how.alpha);
  if (name == "softsign")
    return softsign(b, x);
  if (name == "softplus")
    return softplus(b, x);
  return n.error("its activation '" + how.name + "' is unknown");
}

/// The activations of all directions; alpha and beta lists are used up in order.
Result<SmallVector<Activation>> activations(Node &n, ArrayRef<StringRef> usual,
                                            int64_t directions) {
  std::vector<std::string> names = n.texts("activations");
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i)
      names.insert(names.end(), usual.begin(), usual.end());
  if (names.size() < usual.size() * directions)
    return n.error("its activations are too few");
  SmallVector<double> alphas = n.reals("activation_alpha"), betas = n.reals("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  SmallVector<Activation> result;
  for (const std::string &name : names) {
    std::string key = StringRef(name).lower();
    bool hasBeta = key == "affine" || key == "scaledtanh" || key == "hardsigmoid";
    bool hasAlpha = hasBeta || key == "leakyrelu" || key == "thresholdedrelu" || key == "elu";
    Activation one{name,
                   key == "leakyrelu"     ? 0.01
                   : key == "hardsigmoid" ? 0.2
                                          : 1.0,
                   key == "hardsigmoid"  ? 0.5
                   : key == "scaledtanh" ? 1.0
                                         : 0.0};
    if (hasAlpha && nextAlpha < alphas.size())
      one.alpha = alphas[nextAlpha++];
    if (hasBeta && nextBeta < betas.size())
      one.beta = betas[nextBeta++];
    result.push_back(one);
  }
  return result;
}

enum class Cell { Rnn, Gru, Lstm };

template <Cell cell> Status lowerRecurrent(Node &n) {
  ONNX_TRY(n.expect(3, cell == Cell::Lstm ? 8 : 6));
  HloBuilder &b = n.b;
  constexpr int64_t gates = cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4;
  std::string direction = n.text("direction", "forward");
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (direction != "forward" && direction != "reverse" && directions == 1)
    return n.error("its direction '" + direction + "' is unknown");
  bool batchFirst = n.integer("layout", 0);
  if (n.rank(0) != 3 || n.rank(1) != 3 || n.rank(2) != 3)
    return n.error("its operands should have three dimensions");
  Value x = batchFirst ? b.transpose(n.in(0), {1, 0, 2}) : n.in(0);
  int64_t length = HloBuilder::shapeOf(x)[0], batch = HloBuilder::shapeOf(x)[1],
          features = HloBuilder::shapeOf(x)[2], hidden = n.shape(2)[2];
  if (n.shape(1) != ArrayRef<int64_t>({directions, gates * hidden, features}) ||
      n.shape(2) != ArrayRef<int64_t>({directions, gates * hidden, hidden}) ||
      (n.has(3) && n.shape(3) != ArrayRef<int64_t>({directions, 2 * gates * hidden})) ||
      (n.has(4) && HloBuilder::countOf(n.in(4)) != batch))
    return n.error("its weights do not fit its operand");
  if (length < 1)
    return n.refuse(ErrorCode::NotYet, "a sequence without steps is not lowered");
  SmallVector<StringRef> usual{"Sigmoid", "Tanh", "Tanh"};
  if (cell == Cell::Rnn)
    usual = {"Tanh"};
  else if (cell == Cell::Gru)
    usual.pop_back();
  ONNX_LET(functions, activations(n, usual, directions));
  double clip = n.real("clip", 0);
  auto clipped = [&](Value v) {
    return clip > 0 ? b.clamp(b.like(v, -clip), v, b.like(v, clip)) : v;
  };
  Type element = n.element(0);
  auto initial = [&](size_t i, int64_t d) -> Result<Value> {
    if (!n.has(i))
      return b.splat(0, element, {batch, hidden});
    Value all = batchFirst ? b.transpose(n.in(i), {1, 0, 2}) : n.in(i);
    if (HloBuilder::shapeOf(all) != ArrayRef<int64_t>({directions, batch, hidden}))
      return n.error("its initial state does not fit");
    return b.reshape(b.sliceDim(all, 0, d, d + 1), {batch, hidden});
  };
  SmallVector<Value> ys, lastH, lastC;
  for (int64_t d = 0; d < directions; ++d) {
    auto matrix = [&](size_t i, int64_t columns) {
      return b.reshape(b.sliceDim(n.in(i), 0, d, d + 1), {gates * hidden, columns});
    };
    Value w = b.transpose(matrix(1, features), {1, 0}), r = b.transpose(matrix(2, hidden), {1, 0});
    Value wb = b.splat(0, element, {gates * hidden}), rb = wb;
    if (n.has(3)) {
      Value bias = b.reshape(b.sliceDim(n.in(3), 0, d, d + 1), {2 * gates * hidden});
      wb = b.sliceDim(bias, 0, 0, gates * hidden);
      rb = b.sliceDim(bias, 0, gates * hidden, 2 * gates * hidden);
    }
    ONNX_LET(h, initial(5, d));
    Value c;
    SmallVector<Value> peep(3);
    if constexpr (cell == Cell::Lstm) {
      ONNX_LET(made, initial(6, d));
      c = made;
      if (n.has(7)) {
        if (n.shape(7) != ArrayRef<int64_t>({directions, 3 * hidden}))
          return n.error("its peepholes do not fit");
        Value all = b.reshape(b.sliceDim(n.in(7), 0, d, d + 1), {3 * hidden});
        for (int64_t i = 0; i < 3; ++i)
          peep[i] = b.sliceDim(all, 0, i * hidden, (i + 1) * hidden);
      }
    }
    auto function = [&](size_t i) { return functions[d * usual.size() + i]; };
    auto gate = [&](Value v, int64_t i) { return b.sliceDim(v, 1, i * hidden, (i + 1) * hidden); };
    auto vectorGate = [&](Value v, int64_t i) {
      return b.sliceDim(v, 0, i * hidden, (i + 1) * hidden);
    };
    bool backward = direction == "reverse" || d == 1;
    // Rows end at their own length: beyond it the state stays and the output is zero.
    Value lengths = n.has(4) ? b.reshape(b.convert(n.in(4), b.i64()), {batch, 1}) : Value();
    auto step = [&](Value at, int64_t known, ArrayRef<Value> carried) -> Result<Trip> {
      Value xt = entryAt(b, x, 0, at, known), h = carried[0], c;
      if (cell == Cell::Lstm)
        c = carried[1];
      Value fromX = b.add(b.matmul(xt, w), wb), fromH = b.matmul(h, r), nextH, nextC = c;
      if constexpr (cell == Cell::Rnn) {
        ONNX_LET(made, activate(n, function(0), clipped(b.add(fromX, b.add(fromH, rb)))));
        nextH = made;
      } else if constexpr (cell == Cell::Gru) {
        Value both = b.add(fromX, b.add(fromH, rb));
        ONNX_LET(z, activate(n, function(0), clipped(gate(both, 0))));
        ONNX_LET(reset, activate(n, function(0), clipped(gate(both, 1))));
        Value inner;
        if (n.integer("linear_before_reset", 0)) {
          inner = b.multiply(reset, b.add(gate(fromH, 2), vectorGate(rb, 2)));
        } else {
          Value rh = b.sliceDim(r, 1, 2 * hidden, 3 * hidden);
          inner = b.add(b.matmul(b.multiply(reset, h), rh), vectorGate(rb, 2));
        }
        ONNX_LET(fresh, activate(n, function(1), clipped(b.add(gate(fromX, 2), inner))));
        nextH = b.add(b.multiply(b.subtract(b.like(z, 1), z), fresh), b.multiply(z, h));
      } else {
        Value both = b.add(fromX, b.add(fromH, rb));
        auto peeped = [&](Value v, int64_t i, Value state) {
          return peep[i] ? b.add(v, b.multiply(peep[i], state)) : v;
        };
        ONNX_LET(in, activate(n, function(0), clipped(peeped(gate(both, 0), 0, c))));
        ONNX_LET(forget, activate(n, function(0), clipped(peeped(gate(both, 2), 2, c))));
        ONNX_LET(fresh, activate(n, function(1), clipped(gate(both, 3))));
        Value keep = n.integer("input_forget", 0) ? b.subtract(b.like(in, 1), in) : forget;
        nextC = b.add(b.multiply(keep, c), b.multiply(in, fresh));
        ONNX_LET(out, activate(n, function(0), clipped(peeped(gate(both, 1), 1, nextC))));
        ONNX_LET(shown, activate(n, function(2), nextC));
        nextH = b.multiply(out, shown);
      }
      Value y = nextH;
      if (lengths) {
        Value inside = b.greater(lengths, b.broadcastTo(at, {batch, 1}));
        y = b.select(inside, nextH, b.like(nextH, 0));
        nextH = b.select(inside, nextH, h);
        if (c)
          nextC = b.select(inside, nextC, c);
      }
      Trip trip{{nextH}, {}, {y}};
      if (nextC)
        trip.carried.push_back(nextC);
      return trip;
    };
    SmallVector<Value> start{h};
    if (c)
      start.push_back(c);
    ONNX_LET(made, repeat(n, length, backward, start, step));
    ys.push_back(b.unsqueeze(made.stacked[0], 1));
    lastH.push_back(b.unsqueeze(made.carried[0], 0));
    if (c)
      lastC.push_back(b.unsqueeze(made.carried[1], 0));
  }
  Value y = b.concatenate(ys, 1), yh = b.concatenate(lastH, 0);
  n.out(0, batchFirst ? b.transpose(y, {2, 0, 1, 3}) : y);
  n.out(1, batchFirst ? b.transpose(yh, {1, 0, 2}) : yh);
  if constexpr (cell == Cell::Lstm) {
    Value yc = b.concatenate(lastC, 0);
    n.out(2, batchFirst ? b.transpose(yc, {1, 0, 2}) : yc);
  }
  return {};
}

} // namespace

void registerRecurrent(OpTable &table) {
  table.add("Scan", 8, lowerScan, /*foldable=*/false);
  table.add("RNN", 1, lowerRecurrent<Cell::Rnn>);
  table.add("GRU", 1, lowerRecurrent<Cell::Gru>);
  table.add("LSTM", 1, lowerRecurrent<Cell::Lstm>);
}

} // namespace cupel::frontends::onnx_import
