// Recurrent layers and cells: LSTM, GRU and plain ones, in layers and both directions.

#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

enum class Cell { Lstm, Gru, Tanh, Relu };

/// Up to here steps are written one after the other; longer sequences become a loop.
constexpr int64_t kUnrolled = 8;

/// What one direction of one layer has.
struct Weights {
  Value input, hidden, inputBias, hiddenBias, projection; ///< Null where there is none.
};

struct State {
  Value h, c; ///< c of an LSTM only.
};

/// x W^T + bias.
Value linear(HloBuilder &b, Value x, Value weight, Value bias) {
  Value y = b.dotGeneral(x, weight, {}, {}, {H::rankOf(x) - 1}, {1});
  return bias ? b.add(y, bias) : y;
}

/// Gate k of `count` in the last dimension.
Value gate(HloBuilder &b, Value gates, int64_t k, int64_t count) {
  int64_t last = H::rankOf(gates) - 1, size = H::shapeOf(gates)[last] / count;
  return b.sliceDim(gates, last, k * size, (k + 1) * size);
}

/// One step; `given` is what the input contributes to the gates, [batch, gates].
State step(HloBuilder &b, Cell cell, Value given, const State &state, const Weights &w) {
  Value own = linear(b, state.h, w.hidden, w.hiddenBias);
  if (cell == Cell::Gru) {
    Value reset = b.logistic(b.add(gate(b, given, 0, 3), gate(b, own, 0, 3)));
    Value update = b.logistic(b.add(gate(b, given, 1, 3), gate(b, own, 1, 3)));
    Value fresh = b.tanh(b.add(gate(b, given, 2, 3), b.multiply(reset, gate(b, own, 2, 3))));
    return {b.add(b.multiply(b.subtract(state.h, fresh), update), fresh), {}};
  }
  Value gates = b.add(given, own);
  if (cell == Cell::Tanh)
    return {b.tanh(gates), {}};
  if (cell == Cell::Relu)
    return {b.maximum(gates, b.like(gates, 0)), {}};
  Value in = b.logistic(gate(b, gates, 0, 4)), forget = b.logistic(gate(b, gates, 1, 4)),
        fresh = b.tanh(gate(b, gates, 2, 4)), out = b.logistic(gate(b, gates, 3, 4));
  Value c = b.add(b.multiply(forget, state.c), b.multiply(in, fresh));
  Value h = b.multiply(out, b.tanh(c));
  if (w.projection)
    h = linear(b, h, w.projection, {});
  return {h, c};
}

/// A whole direction: x is [time, batch, features]; gives [time, batch, hidden].
Value runLayer(HloBuilder &b, Cell cell, Value x, State &state, const Weights &w, bool reverse) {
  int64_t time = H::shapeOf(x)[0], batch = H::shapeOf(x)[1];
  Value given = linear(b, x, w.input, w.inputBias); // [time, batch, gates]
  int64_t gates = H::shapeOf(given)[2], hidden = H::shapeOf(state.h)[1];
  if (time <= kUnrolled) {
    SmallVector<Value> outputs(time);
    for (int64_t i = 0; i < time; ++i) {
      int64_t at = reverse ? time - 1 - i : i;
      state = step(b, cell, b.reshape(b.sliceDim(given, 0, at, at + 1), {batch, gates}), state, w);
      outputs[at] = b.unsqueeze(state.h, 0);
    }
    return time ? b.concatenate(outputs, 0) : b.splat(0, H::elementOf(x), {0, batch, hidden});
  }
  Value zero = b.splatInteger(0, b.i64());
  SmallVector<Value> initial{zero, state.h,
                             b.splat(0, H::elementOf(state.h), {time, batch, hidden})};
  if (state.c)
    initial.push_back(state.c);
  SmallVector<Value> last = b.whileLoop(
      initial, [&](ValueRange v) { return b.less(v[0], b.splatInteger(time, b.i64())); },
      [&](ValueRange v) -> SmallVector<Value> {
        Value at = reverse ? b.subtract(b.splatInteger(time - 1, b.i64()), v[0]) : v[0];
        Value now =
            b.reshape(b.dynamicSlice(given, {at, zero, zero}, {1, batch, gates}), {batch, gates});
        State next = step(b, cell, now, {v[1], v.size() > 3 ? v[3] : Value()}, w);
        Value outputs = b.dynamicUpdateSlice(v[2], b.unsqueeze(next.h, 0), {at, zero, zero});
        SmallVector<Value> all{b.add(v[0], b.splatInteger(1, b.i64())), next.h, outputs};
        if (next.c)
          all.push_back(next.c);
        return all;
      });
  state.h = last[1];
  if (state.c)
    state.c = last[3];
  return last[2];
}

/// Layer k of [layers, batch, features].
Value layerOf(HloBuilder &b, Value x, int64_t k) {
  return b.reshape(b.sliceDim(x, 0, k, k + 1), H::shapeOf(x).drop_front());
}

void lowerNetwork(Node &n, Cell cell) {
  HloBuilder &b = n.b;
  if (n.overload() == "data")
    return n.notYet("packed sequences: their lengths are data");
  Type type = n.computeType(n.resultElement(0));
  Value x = n.in("input", type), h, c;
  if (cell == Cell::Lstm) {
    SmallVector<Value> states = n.list("hx");
    if (states.size() != 2 || !states[0] || !states[1])
      return n.fail("hx should be two tensors");
    h = b.convert(states[0], type);
    c = b.convert(states[1], type);
  } else {
    h = n.in("hx", type);
  }
  int64_t layers = n.integer("num_layers"), directions = n.flag("bidirectional") ? 2 : 1;
  bool biases = n.flag("has_biases"), batchFirst = n.flag("batch_first");
  if (n.failed())
    return;
  if (n.real("dropout") != 0 && n.flag("train") && layers > 1)
    return n.refuse(ErrorCode::Random, "dropout between layers is random");
  SmallVector<Value> params = n.list("params");
  size_t each = (biases ? 4 : 2);
  bool projects = cell == Cell::Lstm && params.size() == (each + 1) * layers * directions;
  if (projects)
    ++each;
  if (H::rankOf(x) != 3 || H::rankOf(h) != 3 || params.size() != each * layers * directions ||
      H::shapeOf(h)[0] != layers * directions || llvm::is_contained(params, Value()))
    return n.fail("input, hx and params do not fit each other");
  if (batchFirst)
    x = b.transpose(x, {1, 0, 2});
  SmallVector<Value> hs, cs;
  for (int64_t layer = 0; layer < layers; ++layer) {
    SmallVector<Value> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t k = layer * directions + direction;
      size_t at = k * each;
      auto param = [&](size_t i) { return b.convert(params[at + i], type); };
      Weights w{param(0), param(1), {}, {}, {}};
      if (biases) {
        w.inputBias = param(2);
        w.hiddenBias = param(3);
      }
      if (projects)
        w.projection = param(each - 1);
      if (H::rankOf(w.input) != 2 || H::shapeOf(w.input)[1] != H::shapeOf(x)[2])
        return n.fail("a weight does not fit the input");
      State state{layerOf(b, h, k), c ? layerOf(b, c, k) : Value()};
      outputs.push_back(runLayer(b, cell, x, state, w, direction == 1));
      hs.push_back(b.unsqueeze(state.h, 0));
      if (c)
        cs.push_back(b.unsqueeze(state.c, 0));
    }
    x = b.concatenate(outputs, 2);
  }
  n.out(0, batchFirst ? b.transpose(x, {1, 0, 2}) : x);
  n.out(1, b.concatenate(hs, 0));
  if (c)
    n.out(2, b.concatenate(cs, 0));
}

/// One layer in one direction, as the decomposition for CPUs has it. Time comes first whatever `batch_first` says: whoever calls it has turned the
/// input, and passes the flag on.
void lowerLstmLayer(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement(0));
  if (n.integer("mode") != 2)
    return n.notYet("another mode than LSTM");
  Value x = n.in("input", type);
  Value h = n.in("hx_", type), c = n.in("cx_", type);
  if (n.failed() || H::rankOf(x) != 3)
    return n.fail("takes [time, batch, features]");
  int64_t batch = H::shapeOf(x)[1];
  Weights w{n.in("weight0", type), n.in("weight1", type), {}, {}, {}};
  if (n.flag("has_biases")) {
    w.inputBias = n.in("weight2", type);
    w.hiddenBias = n.in("weight3", type);
  }
  State state{b.reshape(h, {batch, H::shapeOf(h).back()}),
              b.reshape(c, {batch, H::shapeOf(c).back()})};
  Value y = runLayer(b, Cell::Lstm, x, state, w, n.flag("reverse"));
  n.out(0, y);
  n.out(1, b.reshape(state.h, n.resultShape(1)));
  n.out(2, b.reshape(state.c, n.resultShape(2)));
  for (size_t i = 3; i < n.outputCount(); ++i)
    if (n.resultType(i))
      n.out(i, b.splat(0, n.resultElement(i), n.resultShape(i)));
}

void lowerCell(Node &n, Cell cell) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement(0));
  Value x = n.in("input", type);
  State state;
  if (cell == Cell::Lstm) {
    SmallVector<Value> states = n.list("hx");
    if (states.size() != 2 || !states[0] || !states[1])
      return n.fail("hx should be two tensors");
    state = {b.convert(states[0], type), b.convert(states[1], type)};
  } else {
    state.h = n.in("hx", type);
  }
  Weights w{n.in("w_ih", type), n.in("w_hh", type), {}, {}, {}};
  if (n.has("b_ih"))
    w.inputBias = n.in("b_ih", type);
  if (n.has("b_hh"))
    w.hiddenBias = n.in("b_hh", type);
  if (n.failed() || H::rankOf(w.input) != 2 || H::rankOf(x) < 1 ||
      H::shapeOf(w.input)[1] != H::shapeOf(x).back())
    return n.fail("the weights do not fit the input");
  State next = step(b, cell, linear(b, x, w.input, w.inputBias), state, w);
  n.out(0, next.h);
  if (next.c)
    n.out(1, next.c);
}

} // namespace

void registerRecurrent(OpTable &table) {
  table.add("aten.lstm", [](Node &n) { lowerNetwork(n, Cell::Lstm); });
  table.add("aten.gru", [](Node &n) { lowerNetwork(n, Cell::Gru); });
  table.add("aten.rnn_tanh", [](Node &n) { lowerNetwork(n, Cell::Tanh); });
  table.add("aten.rnn_relu", [](Node &n) { lowerNetwork(n, Cell::Relu); });
  table.add("aten.mkldnn_rnn_layer", lowerLstmLayer);
  table.add("aten.lstm_cell", [](Node &n) { lowerCell(n, Cell::Lstm); });
  table.add("aten.gru_cell", [](Node &n) { lowerCell(n, Cell::Gru); });
  table.add("aten.rnn_tanh_cell", [](Node &n) { lowerCell(n, Cell::Tanh); });
  table.add("aten.rnn_relu_cell", [](Node &n) { lowerCell(n, Cell::Relu); });
}

} // namespace cupel::frontends::torch_import
