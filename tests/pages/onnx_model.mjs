// A model as ONNX's protobuf: a number in base 128, a field of bytes, and messages of such fields.
const number = (value) => { const bytes = []; do { bytes.push((value & 127) | (value > 127 ? 128 : 0)); value >>= 7; } while (value); return Buffer.from(bytes); };
const bytes = (field, value) => { const data = Buffer.from(value); return Buffer.concat([number((field << 3) | 2), number(data.length), data]); };
const whole = (field, value) => Buffer.concat([number(field << 3), number(value)]);
const message = (...parts) => Buffer.concat(parts);
const valueInfo = (field, name, ...sizes) => bytes(field, message(bytes(1, name), bytes(2, bytes(1, message(whole(1, 1), bytes(2, message(...sizes.map((size) => bytes(1, whole(1, size))))))))));
const node = (name, op, inputs, output) => bytes(1, message(...inputs.map((one) => bytes(1, one)), bytes(2, output), bytes(3, name), bytes(4, op)));
export const ONNX = message(whole(1, 8), bytes(7, message(node("/layers.0/MatMul", "MatMul", ["x", "w"], "p"), node("/layers.0/Tanh", "Tanh", ["p"], "t"), node("/layers.1/Add", "Add", ["t", "t"], "y"), bytes(2, "two_layers"),
  bytes(5, message(whole(1, 4), whole(1, 4), whole(2, 1), bytes(8, "w"), bytes(9, Buffer.alloc(64, 63)))), valueInfo(11, "x", 2, 4), valueInfo(12, "y", 2, 4))), bytes(8, whole(2, 17)));
