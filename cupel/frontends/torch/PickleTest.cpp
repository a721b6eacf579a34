#include "cupel/frontends/torch/Pickle.h"

#include "cupel/support/TemporaryFolder.h"
#include "cupel/tensor/Zip.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends::torch_import;

namespace {

class PickleTest : public testing::Test {
protected:
  /// A file of torch.save with this pickle and one storage "0" of four floats.
  Result<Pickle> read(const std::string &code) {
    float values[] = {1, 2, 3, 4};
    std::string storage(reinterpret_cast<const char *>(values), sizeof(values));
    std::string path = (folder.path / "file.pt").string();
    EXPECT_TRUE(tensor::writeZip(path,
                                 {{"archive/data.pkl", "", code},
                                  {"archive/byteorder", "", "little"},
                                  {"archive/data/0", "", storage}},
                                 false));
    Result<tensor::SharedBytes> file = tensor::mapFile(path);
    EXPECT_TRUE(file);
    return Pickle::read(*file, "file.pt");
  }
  static std::string text(const std::string &value) {
    return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
  }
  /// A tensor [2, 2] on storage "0" with these strides and this offset.
  static std::string tensorCode(int stride0, int stride1, int offset = 0) {
    auto number = [](int value) { return std::string("K") + static_cast<char>(value); };
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" +
           text("0") + text("cpu") + "K\x04tQ" + number(offset) + "K\x02K\x02\x86" +
           number(stride0) + number(stride1) + "\x86\x89" + "ccollections\nOrderedDict\n)RtR";
  }
  TemporaryFolder folder{"cupel-pickle"};
};

TEST_F(PickleTest, ReadsTensorsInContainers) {
  Result<Pickle> pickle = read("\x80\x02}" + text("w") + tensorCode(1, 2) + "s.");
  ASSERT_TRUE(pickle) << pickle.message();
  auto tensors = pickle->namedTensors();
  ASSERT_TRUE(tensors);
  const tensor::Tensor &w = tensors->at("w");
  ASSERT_EQ(w.size(), 4);
  EXPECT_EQ(w.dataAs<float>()[1], 3); // Transposed.
  EXPECT_EQ(w.dataAs<float>()[2], 2);
}

TEST_F(PickleTest, RefusesWhatIsNoTensorByName) {
  for (const std::string &code :
       {"cos\nsystem\n" + text("true") + "\x85R.", std::string("cbuiltins\neval\n."),
        std::string("ctorch.nn.modules.linear\nLinear\n)\x81.")}) {
    Result<Pickle> pickle = read("\x80\x02" + code);
    ASSERT_FALSE(pickle);
    EXPECT_NE(pickle.message().find("refused"), std::string::npos) << pickle.message();
  }
  Result<Pickle> system = read(std::string("\x80\x02"
                                           "cos\nsystem\n."));
  ASSERT_FALSE(system);
  EXPECT_NE(system.message().find("os.system"), std::string::npos) << system.message();
}

TEST_F(PickleTest, RefusesWhatLeavesItsStorage) {
  EXPECT_FALSE(read("\x80\x02" + tensorCode(2, 1, 1) + "."));
  EXPECT_FALSE(read("\x80\x02" + tensorCode(100, 1) + "."));
  EXPECT_TRUE(read("\x80\x02" + tensorCode(2, 1) + "."));
}

TEST_F(PickleTest, SurvivesCirclesAndDamage) {
  // A list that holds itself.
  Result<Pickle> circle = read(std::string("\x80\x02]q\x00h\x00"
                                           "a.",
                                           9));
  ASSERT_TRUE(circle) << circle.message();
  EXPECT_FALSE(circle->allTensors());
  for (const std::string code :
       {"", ".", "\x80\x02", "\x80\x02)", "\x80\x02Q.", "\x80\x02R.", "\x80\x02(t", "h\x05.",
        "X\xff\xff\xff\x7f"
        "abc",
        "\x80\x02]s.", "(u.", "\x80\x09."})
    EXPECT_FALSE(read(code));
  std::string deep = "\x80\x02";
  for (int i = 0; i < 100000; ++i)
    deep += "]";
  for (int i = 0; i < 99999; ++i)
    deep += "a";
  Result<Pickle> nested = read(deep + ".");
  ASSERT_TRUE(nested);
  EXPECT_FALSE(nested->allTensors());
}

} // namespace
