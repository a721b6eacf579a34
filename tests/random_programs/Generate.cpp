#include "tests/random_programs/Generator.h"

#include "cupel/tensor/Convert.h"

#include <limits>

namespace cupel::random_programs {

using tensor::DType;

namespace {

/// Of programs that a mesh of devices runs, which is slower.
constexpr int kPercentOnTwo = 5;
/// Of programs that are mostly what networks are made of.
constexpr int kPercentNetworks = 40;
/// Of arguments that may be overwritten, and of programs that are fed what is no number.
constexpr int kPercentDonated = 25, kPercentSpecial = 12;

} // namespace

Program Generator::run() {
  Program program;
  replicas = random.chance(kPercentOnTwo) ? 2 : 1;
  mayHoldNaN = random.chance(kPercentSpecial);
  int64_t many = random.between(1, 4);
  for (int64_t i = 0; i < many; ++i) {
    std::string type = argumentType();
    argument(type, shape());
  }
  // Of most steps nothing is left in the end: fewer, where much is made in one.
  isNetwork = random.chance(kPercentNetworks);
  int64_t steps = isNetwork ? random.between(1, 4) : random.between(3, 24);
  std::vector<Val> ends; // Of steps of networks, so that they are not dropped.
  for (int64_t i = 0; i < steps; ++i) {
    step();
    if (isNetwork && !values.back().isConstant && !values.back().name.starts_with("%a"))
      ends.push_back(values.back());
  }
  int64_t results = random.between(isNetwork ? 3 : 1, 5);
  std::string returned, types;
  std::vector<Val> given;
  for (int64_t i = 0; i < results; ++i) {
    // The last values first, then any: what nobody needs is dropped.
    std::vector<Val> computed;
    std::copy_if(values.begin(), values.end(), std::back_inserter(computed),
                 [](const Val &one) { return !one.isConstant; });
    const auto many = int64_t(computed.size());
    Val value = computed[size_t(std::max<int64_t>(0, many - 1 - random.below(i < 2 ? 4 : many)))];
    if (!ends.empty() && random.chance(80)) {
      value = ends.back();
      ends.pop_back();
    }
    returned += (i ? ", " : "") + value.name;
    types += (i ? ", " : "") + typeOf(value);
    program.roundings.push_back(value.isExact                  ? Roundings::None
                                : narrow.contains(value.name) ? Roundings::Narrow
                                                              : Roundings::Usual);
    given.push_back(value);
  }
  program.arguments.resize(size_t(replicas));
  std::string taken;
  for (const Val &argument : arguments) {
    for (auto &ofReplica : program.arguments)
      ofReplica.push_back(fill(argument));
    taken += (taken.empty() ? "" : ", ") + argument.name + ": " + typeOf(argument);
    if (!random.chance(kPercentDonated))
      continue;
    auto same = std::find_if(given.begin(), given.end(), [&](const Val &one) { return !one.isTaken && typeOf(one) == typeOf(argument); });
    if (same == given.end()) {
      taken += " {jax.buffer_donor = true}";
      continue;
    }
    same->isTaken = true;
    taken += " {tf.aliasing_output = " + std::to_string(same - given.begin()) + " : i32}";
  }
  program.text = functions + "func.func public @main(" + taken + ") -> (" + types + ") {\n" + body + "  return " + returned +
                 " : " + types + "\n}\n";
  if (replicas > 1)
    program.text = "module attributes {mhlo.num_replicas = " + std::to_string(replicas) + " : i32} {\n" + program.text + "}\n";
  return program;
}

tensor::Tensor Generator::fill(const Val &value) {
  const DType type = *tensor::parseDType(value.type);
  const tensor::DTypeInfo &info = tensor::kDTypes[int(type)];
  const bool isReal = info.kind == tensor::Kind::Float, isSpecial = isReal && mayHoldNaN && random.chance(50);
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  Result<tensor::Tensor> made = tensor::Tensor::zeros(DType::F64, value.shape);
  double *data = made->mutableAs<double>();
  for (int64_t i = 0; i < made->size(); ++i) {
    if (isReal)
      data[i] = 4 * random.unit() - 2;
    else if (info.kind == tensor::Kind::Signed)
      data[i] = info.bits < 8 ? double(random.between(-(1 << (info.bits - 1)), (1 << (info.bits - 1)) - 1)) : double(random.between(-9, 9));
    else
      data[i] = double(random.below(info.bits < 8 ? 1 << info.bits : 256));
    if (isReal && random.chance(2))
      data[i] = random.pick<double>({0.0, -0.0, 1.0, 100.0, -1e-3});
    if (isSpecial && random.chance(10))
      data[i] = random.pick<double>({kInfinity, -kInfinity, kNaN, -0.0, 1e-40});
  }
  return *tensor::convert(*made, type);
}

Program generate(uint64_t seed) { return Generator(seed).run(); }

} // namespace cupel::random_programs
