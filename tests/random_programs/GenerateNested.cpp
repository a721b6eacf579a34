// Steps of random programs that hold other steps: loops and branches within each other, functions that are
// called, and what devices do together.

#include "tests/random_programs/Generator.h"

namespace cupel::random_programs {

namespace {

constexpr int64_t kDeepest = 3;

} // namespace

/// The last value like `wanted` behind the first `known`, or that itself.
Val Generator::lastLike(size_t known, const Val &wanted) {
  for (size_t i = values.size(); i > known; --i)
    if (values[i - 1].type == wanted.type && values[i - 1].shape == wanted.shape)
      return values[i - 1];
  return wanted;
}

/// The text of a region of some steps; `finish` adds its last ones and says what it returns. What it made is
/// known to nobody outside.
std::string Generator::region(const std::vector<Val> &taken, const std::function<std::string(size_t)> &finish) {
  std::string outside = std::move(body);
  body.clear();
  // Arguments of the program may come to stand in front while steps are made.
  const size_t own = values.size() - arguments.size();
  values.insert(values.end(), taken.begin(), taken.end());
  ++depth;
  for (int64_t i = random.between(1, 4); i > 0; --i)
    step();
  const size_t known = own + arguments.size();
  std::string returned = finish(known);
  --depth;
  values.resize(own + arguments.size());
  std::string made = std::move(body) + "  " + returned;
  body = std::move(outside);
  return made;
}

void Generator::nestedLoop() {
  Val a = recent();
  if (depth >= kDeepest || count(a.shape) > 2000)
    return;
  Val zero = constant("0", "i32", {}), limit = constant(std::to_string(random.between(0, 3)), "i32", {});
  const std::string id = std::to_string(next++), type = typeOf(a);
  // Roundings of one turn go into the next.
  Val counter{"%i" + id, "i32", {}, true}, carried{"%x" + id, a.type, a.shape, !isFloat(a.type)};
  if (bitsOf(a.type) < 32 && isFloat(a.type))
    narrow.insert(carried.name);
  bool isNarrow = false;
  std::string inner = region({counter, carried}, [&](size_t known) {
    Val last = tamed(lastLike(known, carried)), following = binary("add", counter, constant("1", "i32", {}));
    isNarrow = narrow.contains(last.name);
    return "stablehlo.return " + following.name + ", " + last.name + " : tensor<i32>, " + type + "\n";
  });
  body += "  %" + id + ":2 = stablehlo.while(" + counter.name + " = " + zero.name + ", " + carried.name + " = " + a.name + ") : tensor<i32>, " + type + " cond {\n    %c" + id +
          " = stablehlo.compare LT, " + counter.name + ", " + limit.name + ", SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c" + id + " : tensor<i1>\n  } do {\n" + inner + "  }\n";
  Val made{"%" + id + "#1", a.type, a.shape, !isFloat(a.type)};
  if (isNarrow || narrow.contains(a.name))
    narrow.insert(made.name);
  values.push_back(made);
}

void Generator::nestedBranches() {
  Val a = recent();
  if (depth >= kDeepest)
    return;
  const bool isCase = random.chance(40);
  Val which = like(isCase ? "i32" : "i1", {});
  if (!which.isExact)
    return;
  const std::string id = std::to_string(next++), type = typeOf(a);
  bool isExact = true, isNarrow = false;
  auto branch = [&] {
    return "{\n" + region({}, [&](size_t known) {
             Val last = lastLike(known, a);
             isExact &= last.isExact;
             isNarrow |= narrow.contains(last.name);
             return "stablehlo.return " + last.name + " : " + type + "\n  }";
           });
  };
  std::string branches = branch() + ", " + branch();
  if (isCase)
    branches += ", " + branch();
  body += "  %" + id + " = \"stablehlo." + (isCase ? "case" : "if") + "\"(" + which.name + ") (" + branches + ") : (" + typeOf(which) + ") -> " + type + "\n";
  Val made{"%" + id, a.type, a.shape, isExact};
  if (isNarrow && !isExact)
    narrow.insert(made.name);
  values.push_back(made);
}

/// A function of its own, called once or twice.
void Generator::calls() {
  Val a = recent();
  if (depth > 0)
    return;
  const std::string id = std::to_string(next++), type = typeOf(a);
  std::vector<Val> outside = std::move(values), ofProgram;
  Val argument{"%f" + id, a.type, a.shape, a.isExact};
  if (narrow.contains(a.name))
    narrow.insert(argument.name);
  values = {};
  std::swap(arguments, ofProgram);
  isCalled = true;
  Val last = argument;
  std::string inner = region({argument}, [&](size_t known) {
    last = lastLike(known, argument);
    return "return " + last.name + " : " + type + "\n";
  });
  isCalled = false;
  std::swap(arguments, ofProgram);
  values = std::move(outside);
  functions += "func.func private @called" + id + "(" + argument.name + ": " + type + ") -> " + type + " {\n" + inner + "}\n";
  Val made = a;
  for (int64_t i = random.between(1, 2); i > 0; --i) {
    made = add("func.call @called" + id + "(" + made.name + ") : (" + type + ") -> " + type, a.type, a.shape, last.isExact);
    if (narrow.contains(last.name))
      narrow.insert(made.name);
  }
}

/// Only where all devices come by: outside of branches and loops.
void Generator::collectives() {
  Val a = recent();
  if (replicas < 2 || depth > 0 || a.shape.empty() || count(a.shape) == 0 || count(a.shape) > 3000)
    return;
  const auto d = random.below(int64_t(a.shape.size()));
  const std::string together = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", element = typeText(a.type, {}), number = std::to_string(d);
  const std::string op = a.type == "i1" ? "or" : random.pick<std::string>({"add", "maximum"});
  const std::string combine = "({\n  ^bb0(%x: " + element + ", %y: " + element + "):\n    %z = stablehlo." + op + " %x, %y : " + element + "\n    stablehlo.return %z : " + element + "\n  })";
  Shape twice = a.shape, half = a.shape;
  twice[size_t(d)] *= 2;
  half[size_t(d)] /= 2;
  const bool canHalve = a.shape[size_t(d)] % 2 == 0;
  // Two numbers have one sum.
  switch (random.below(6)) {
  case 0: add("\"stablehlo.all_reduce\"(" + a.name + ") <{" + together + "}> " + combine + " : (" + typeOf(a) + ") -> " + typeOf(a), a.type, a.shape, a.isExact); return;
  case 1: add("\"stablehlo.all_gather\"(" + a.name + ") <{all_gather_dim = " + number + " : i64, " + together + "}> : (" + typeOf(a) + ") -> " + typeText(a.type, twice), a.type, twice, a.isExact); return;
  case 2:
    if (canHalve)
      add("\"stablehlo.reduce_scatter\"(" + a.name + ") <{scatter_dimension = " + number + " : i64, " + together + "}> " + combine + " : (" + typeOf(a) + ") -> " + typeText(a.type, half), a.type, half, a.isExact);
    return;
  case 3:
    if (canHalve)
      add("\"stablehlo.all_to_all\"(" + a.name + ") <{split_dimension = " + number + " : i64, concat_dimension = " + number + " : i64, split_count = 2 : i64, " + together + "}> : (" + typeOf(a) + ") -> " + typeOf(a), a.type, a.shape, a.isExact);
    return;
  case 4:
    add("\"stablehlo.collective_permute\"(" + a.name + ") <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (" + typeOf(a) + ") -> " + typeOf(a), a.type, a.shape, a.isExact);
    return;
  default: {
    Val id = add("stablehlo.replica_id : tensor<ui32>", "ui32", {}, true);
    convert(id, "i32");
  }
  }
}

} // namespace cupel::random_programs
