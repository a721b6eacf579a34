#include "cupel/kernels/Transpose.h"

#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace cupel::kernels {
namespace {

class TransposeTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, TransposeTest, everyIsa(), nameOfIsa);

void check(const std::vector<int64_t> &sizes, const std::vector<int64_t> &permutation,
           int64_t bytes, int threads) {
  SCOPED_TRACE(testing::PrintToString(sizes) + " by " + testing::PrintToString(permutation) + " of " +
               std::to_string(bytes) + " bytes");
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  // Whole floats, with the elements at their end.
  int64_t floats = (count * bytes + 3) / 4, skipped = floats * 4 - count * bytes;
  GuardedFloats from(floats), to(floats);
  from.fill(static_cast<unsigned>(bytes));
  to.fillWith(7);
  const char *source = reinterpret_cast<char *>(from.data()) + skipped;
  char *target = reinterpret_cast<char *>(to.data()) + skipped;
  permute(sizes, permutation, bytes, source, target, Pool(threads));
  std::vector<int64_t> strides(sizes.size(), 1), at(sizes.size(), 0);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  for (int64_t index = 0; index < count; ++index) {
    int64_t place = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      place += at[i] * strides[static_cast<size_t>(permutation[i])];
    if (std::memcmp(target + index * bytes, source + place * bytes, static_cast<size_t>(bytes)) != 0)
      FAIL() << "element " << index;
    for (size_t i = sizes.size(); i-- > 0;) {
      if (++at[i] < sizes[static_cast<size_t>(permutation[i])])
        break;
      at[i] = 0;
    }
  }
}

TEST_P(TransposeTest, Matrices) {
  for (int64_t rows : {0, 1, 2, 5, 16, 17, 63, 130})
    for (int64_t columns : {1, 3, 4, 8, 16, 31, 64, 150})
      for (int64_t bytes : {1, 2, 3, 4, 8, 12, 16})
        check({rows, columns}, {1, 0}, bytes, 1 + static_cast<int>(rows % 3));
}

TEST_P(TransposeTest, AllPermutationsOfFourDimensions) {
  for (const std::vector<int64_t> &sizes :
       {std::vector<int64_t>{3, 5, 18, 2}, {2, 17, 1, 20}, {4, 3, 2, 1}, {1, 1, 1, 1}, {2, 3, 6, 4}}) {
    std::vector<int64_t> permutation = {0, 1, 2, 3};
    do
      for (int64_t bytes : {2, 4, 8})
        check(sizes, permutation, bytes, 2);
    while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST_P(TransposeTest, LargeOnesGoPastTheCaches) {
  check({2048, 2048}, {1, 0}, 4, 3);
}

TEST_P(TransposeTest, ScalarsAndCopies) {
  check({}, {}, 4, 1);
  check({1000}, {0}, 4, 2);
  check({100, 300}, {0, 1}, 4, 2);
}

} // namespace
} // namespace cupel::kernels
