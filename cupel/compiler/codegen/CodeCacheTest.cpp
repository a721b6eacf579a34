// Machine code on disk: found again by other processes, and made anew when damaged.

#include "cupel/compiler/codegen/CodegenTesting.h"
#include "cupel/support/TemporaryFolder.h"

#include <fstream>
#include <sys/wait.h>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void overwrite(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Compiles and runs a kernel in a process of its own, with the cache in `folder`.
struct Counts {
  int compiled, loaded, damaged, right;
};
Counts inAnotherProcess(const fs::path &folder) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    setenv("CUPEL_CACHE_DIR", folder.c_str(), 1);
    unsetenv("CUPEL_CODE_CACHE"); // which other tests set to 0
    Bodies bodies;
    View view = View::contiguous(DType::F32, {100});
    MapKernel kernel{{100}, {view}, {view},
                     bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {"
                                  "%x = stablehlo.sine %a : tensor<f32>"
                                  "%y = stablehlo.floor %x : tensor<f32>"
                                  "return %y : tensor<f32> }")};
    // Without the instruction, floor is a call: objects on disk refer to functions by name.
    auto code = compile(kernel, *Target::named("baseline"));
    Counts counts{};
    if (code) {
      std::vector<float> in(100, 4.0f), out(100);
      in[3] = 1e30f; // the runtime's way
      runInPieces(*code, {in.data()}, {out.data()}, 1);
      double huge = std::floor(std::sin(static_cast<double>(in[3])));
      counts.right = out[0] == -1.0f && out[99] == -1.0f && out[3] == huge;
    }
    CodegenStatistics s = statistics();
    counts.compiled = static_cast<int>(s.compiled);
    counts.loaded = static_cast<int>(s.loadedFromDisk);
    counts.damaged = static_cast<int>(s.damagedOnDisk);
    bool written = write(ends[1], &counts, sizeof(counts)) == sizeof(counts);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Counts counts{};
  EXPECT_EQ(read(ends[0], &counts, sizeof(counts)), static_cast<ssize_t>(sizeof(counts)));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return counts;
}

TEST(CodeCacheTest, ProcessesShareCodeAndMendWhatIsDamaged) {
  TemporaryFolder folder("cupel-code");
  auto expect = [&](int compiled, int loaded, int damaged) {
    Counts counts = inAnotherProcess(folder.path);
    EXPECT_EQ(counts.compiled, compiled);
    EXPECT_EQ(counts.loaded, loaded);
    EXPECT_EQ(counts.damaged, damaged);
    EXPECT_EQ(counts.right, 1);
  };
  expect(1, 0, 0);
  expect(0, 1, 0);
  fs::path file;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder.path / "code"))
    if (entry.is_regular_file())
      file = entry.path();
  std::string bytes = contents(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  overwrite(file, bytes);
  expect(1, 0, 1);
  expect(0, 1, 0);
}

TEST(CodeCacheTest, SmallMapsOfAllLengthsAreOnePieceOfCode) {
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {"
                                   "%x = stablehlo.multiply %a, %b : tensor<f32>"
                                   "%y = stablehlo.subtract %x, %b : tensor<f32>"
                                   "return %y : tensor<f32> }");
  int64_t before = statistics().compiled;
  for (int64_t columns : {1, 2, 7, 16, 37}) {
    std::vector<int64_t> sizes = {3, columns};
    View view = View::contiguous(DType::F32, sizes), scalar = view;
    scalar.strides = {0, 0};
    auto code = compile(MapKernel{sizes, {view, scalar}, {view}, body});
    ASSERT_TRUE(code);
    std::vector<float> in(size_t(3 * columns)), out(in.size() + 1, 99.0f), two = {2};
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = float(i);
    for (int pieces : {1, 3}) {
      runInPieces(*code, {in.data(), two.data()}, {out.data()}, pieces);
      for (size_t i = 0; i < in.size(); ++i)
        EXPECT_EQ(out[i], in[i] * 2 - 2);
      EXPECT_EQ(out.back(), 99.0f);
    }
  }
  EXPECT_EQ(statistics().compiled - before, 1);
}

/// As the steps of a recurrence that is written out read what was computed for all of them.
TEST(CodeCacheTest, SmallMapsThatReadElsewhereAreOnePieceOfCode) {
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {"
                                   "%x = stablehlo.divide %a, %b : tensor<f32>"
                                   "return %x : tensor<f32> }");
  int64_t before = statistics().compiled;
  std::vector<float> in(60), out(20);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i + 1);
  for (int64_t offset : {0, 20, 33}) {
    View view = View::contiguous(DType::F32, {20}), first = view, second = view;
    first.offset = offset;
    second.offset = 40 - offset;
    auto code = compile(MapKernel{{20}, {first, second}, {view}, body});
    ASSERT_TRUE(code);
    runInPieces(*code, {in.data(), in.data()}, {out.data()}, 7);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], in[i + size_t(offset)] / in[i + size_t(40 - offset)]);
  }
  EXPECT_EQ(statistics().compiled - before, 1);
}

} // namespace
