// Objects on disk: found again by other processes, and never believed when damaged.

#include "cupel/compiler/codegen/CodegenTesting.h"
#include "cupel/compiler/codegen/ObjectStore.h"
#include "cupel/support/TemporaryFolder.h"

#include <fstream>
#include <sys/wait.h>
#include <thread>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace fs = std::filesystem;

namespace {

const std::string kKey(64, 'a'), kOther(64, 'b');

std::string contents(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void overwrite(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(ObjectStoreTest, KeepsAndFinds) {
  TemporaryFolder folder("cupel-store");
  ObjectStore store((folder.path / "deep" / "er").string());
  EXPECT_FALSE(store.load(kKey));
  std::string object("\0object\xff", 8);
  store.save(kKey, object);
  EXPECT_EQ(store.load(kKey), object);
  EXPECT_FALSE(store.load(kOther));
  EXPECT_EQ(ObjectStore((folder.path / "deep" / "er").string()).load(kKey), object);
  EXPECT_EQ(store.damaged(), 0);
}

TEST(ObjectStoreTest, EveryDamagedByteIsNoticed) {
  TemporaryFolder folder("cupel-store");
  fs::path path = folder.path / (kKey + ".o");
  ObjectStore store(folder.path.string());
  store.save(kKey, "an object");
  std::string sound = contents(path);
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    overwrite(path, damaged);
    EXPECT_FALSE(store.load(kKey)) << i;
    EXPECT_FALSE(fs::exists(path)) << i;
  }
  for (size_t size = 0; size < sound.size(); ++size) {
    overwrite(path, sound.substr(0, size));
    EXPECT_FALSE(store.load(kKey)) << size;
  }
  EXPECT_EQ(store.damaged(), static_cast<int64_t>(2 * sound.size()));
  // Sound, but under another's name.
  overwrite(folder.path / (kOther + ".o"), sound);
  EXPECT_FALSE(store.load(kOther));
  overwrite(path, sound);
  EXPECT_EQ(store.load(kKey), "an object");
}

TEST(ObjectStoreTest, NothingIsKeptWithoutAFolder) {
  ObjectStore store("");
  store.save(kKey, "object");
  EXPECT_FALSE(store.load(kKey));
  // A folder that cannot be made costs nothing but time.
  ObjectStore impossible("/dev/null/cupel");
  impossible.save(kKey, "object");
  EXPECT_FALSE(impossible.load(kKey));
}

TEST(ObjectStoreTest, ManyWritersAndReaders) {
  TemporaryFolder folder("cupel-store");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  std::string object(100000, 'x');
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      ObjectStore store(folder.path.string());
      for (int round = 0; round < 50; ++round) {
        store.save(kKey, object);
        std::optional<std::string> found = store.load(kKey);
        wrong += !found || *found != object;
      }
      wrong += store.damaged() != 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
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
    setenv("CUPEL_CODE_CACHE", "1", 1);
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
      counts.right = out[0] == -1.0f && out[99] == -1.0f && out[3] == std::floor(std::sin(static_cast<double>(in[3])));
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

TEST(ObjectStoreTest, ProcessesShareCodeAndMendWhatIsDamaged) {
  TemporaryFolder folder("cupel-store");
  auto expect = [&](int compiled, int loaded, int damaged) {
    Counts counts = inAnotherProcess(folder.path);
    EXPECT_EQ(counts.compiled, compiled);
    EXPECT_EQ(counts.loaded, loaded);
    EXPECT_EQ(counts.damaged, damaged);
    EXPECT_EQ(counts.right, 1);
  };
  expect(1, 0, 0);
  expect(0, 1, 0);
  fs::path file = fs::directory_iterator(folder.path / "code")->path();
  std::string bytes = contents(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  overwrite(file, bytes);
  expect(1, 0, 1);
  expect(0, 1, 0);
}

} // namespace
