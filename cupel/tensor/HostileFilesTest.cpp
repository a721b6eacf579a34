// Damages real files at random (from a fixed seed) and reads them: every outcome must be an error
// with a message, or tensors whose bytes can be read. Most telling with the sanitizers on.

#include "cupel/tensor/Safetensors.h"
#include "cupel/tensor/TestFiles.h"

#include <random>

using namespace cupel;
using namespace cupel::tensor;

namespace {

constexpr int kRounds = 6000;

/// One to four damages: bytes changed, numbers made extreme, parts cut, doubled or moved.
std::string damage(std::string bytes, std::mt19937 &random) {
  auto below = [&](size_t n) { return n ? random() % n : 0; };
  for (size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) {
    size_t at = below(bytes.size()), count = std::min(bytes.size() - at, 1 + below(16));
    switch (below(7)) {
    case 0:
      bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes[at] ^= static_cast<char>(1 << below(8));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(at, bytes.substr(below(bytes.size()), count));
      break;
    case 4:
      bytes.erase(at, count);
      break;
    case 5:
      bytes.replace(at, count, std::string(count, below(2) ? '\xff' : '\0'));
      break;
    case 6: { // the next digit becomes a large number
      size_t digit = bytes.find_first_of("0123456789", at);
      static const char *const kNumbers[] = {"9223372036854775807", "18446744073709551615",
                                             "4294967296", "-1", "0"};
      if (digit != std::string::npos)
        bytes.replace(digit, 1, kNumbers[below(5)]);
      break;
    }
    }
  }
  return bytes;
}

int readable(const Tensor &tensor) {
  Result<Tensor> flat = tensor.contiguous();
  int sum = 0;
  for (int64_t i = 0; i < flat->byteSize(); ++i)
    sum += static_cast<int>(flat->data()[i]);
  EXPECT_EQ(elementCount(tensor.shape()), tensor.size());
  return sum;
}

template <typename Read> void fuzz(std::initializer_list<const char *> names, Read read) {
  std::mt19937 random(20260815);
  int good = 0, bad = 0;
  volatile int sink = 0;
  for (const char *name : names) {
    std::string original = bytesOf(sample(name));
    ASSERT_FALSE(original.empty()) << name;
    for (int i = 0; i < kRounds; ++i) {
      std::string problem;
      read(shared(damage(original, random)), problem,
           [&](const Tensor &t) { sink = sink + readable(t); });
      (problem.empty() ? good : bad)++;
      // Errors are one line and name the file.
      if (!problem.empty()) {
        ASSERT_TRUE(problem.starts_with("input: ")) << problem;
        ASSERT_EQ(problem.find('\n'), std::string::npos) << problem;
        ASSERT_LT(problem.size(), 1000u);
      }
    }
  }
  EXPECT_GT(good, 50); // damage to values is no error
  EXPECT_GT(bad, 1000);
}

TEST(HostileFiles, Npy) {
  fuzz({"f32.npy", "i16-fortran.npy", "c64-big-endian.npy", "bf16.npy", "i32-version2.npy"},
       [](const SharedBytes &bytes, std::string &problem, auto use) {
         Result<Tensor> t = parseNpy(bytes, "input");
         t ? use(*t) : (void)(problem = t.message());
       });
}

TEST(HostileFiles, Npz) {
  fuzz({"stored.npz", "deflated.npz"},
       [](const SharedBytes &bytes, std::string &problem, auto use) {
         Result<NamedTensors> all = parseNpz(bytes, "input");
         if (!all)
           problem = all.message();
         else
           for (auto &[name, tensor] : *all)
             use(tensor);
       });
}

TEST(HostileFiles, Safetensors) {
  fuzz({"types.safetensors", "one.safetensors"},
       [](const SharedBytes &bytes, std::string &problem, auto use) {
         Result<Safetensors> all = parseSafetensors(bytes, "input");
         if (!all)
           problem = all.message();
         else
           for (auto &[name, tensor] : all->tensors)
             use(tensor);
       });
}

} // namespace
