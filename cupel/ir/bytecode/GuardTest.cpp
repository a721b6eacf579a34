// One test a kind of damage that MLIR 19's reader would crash on, run on, or take memory by.
#include "cupel/ir/bytecode/Guard.h"
#include "cupel/ir/bytecode/TestFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cupel::bytecode;
using testing::HasSubstr;

namespace {
constexpr uint64_t kHuge = uint64_t(1) << 40;

std::string problemOf(const TestFile &file) { return check(file.bytes()).problem.what; }

/// What is said of a module with this attribute.
std::string ofAttribute(TestFile file, Data data, uint64_t dialect = 0, bool custom = true) {
  file.attribute(std::move(data), dialect, custom);
  return problemOf(file);
}
std::string ofType(TestFile file, Data data, uint64_t dialect = 0, bool custom = true) {
  file.type(std::move(data), dialect, custom);
  return problemOf(file);
}

/// A file whose module holds `operations` operations in one block, with i32 as type 0.
TestFile withOperations(uint64_t operations, uint64_t values, const Data &body) {
  TestFile file;
  file.type(numbers({0, 32 << 2}));
  file.region = numbers({1, values, flagged(operations, false)}) + body;
  return file;
}
enum Parts : uint8_t {
  Attributes = 1,
  Results = 2,
  Operands = 4,
  Successors = 8,
  Regions = 16,
  Orders = 32,
  Properties = 64
};
Data operation(uint8_t parts, const Data &rest) {
  return numbers({1}) + Data{parts} + numbers({0}) + rest;
}
} // namespace

TEST(Guard, AcceptsTheSmallestModuleOfEachVersion) {
  for (uint64_t version = 0; version <= 6; ++version) {
    TestFile file;
    file.version = version;
    if (version < kNativeProperties)
      file.operationNames =
          (version >= kElideUnknownBlockArgLocation ? numbers({1}) : Data()) + numbers({0, 1, 1});
    constexpr uint8_t kHasRegions = 0x10;
    if (version < kLazyLoading)
      file.ir = numbers({flagged(1, false), 0}) + Data{kHasRegions} +
                numbers({0, flagged(1, true)}) + file.region;
    EXPECT_EQ(problemOf(file), "") << "version " << version;
  }
}

TEST(Guard, ChecksStrings) {
  TestFile file;
  auto withStrings = [&](Data section) {
    Data bytes = TestFile().bytes();
    Data old = TestFile().stringSection();
    Data good = cupel::bytecode::section(SectionId::String, old);
    auto at = std::search(bytes.begin(), bytes.end(), good.begin(), good.end());
    Data out(bytes.begin(), at);
    out = out + cupel::bytecode::section(SectionId::String, section) +
          Data(at + good.size(), bytes.end());
    return check(out).problem.what;
  };
  EXPECT_THAT(withStrings(numbers({kHuge})), HasSubstr("number of strings is 1099511627776"));
  EXPECT_THAT(withStrings(numbers({1, 0, 0})), HasSubstr("size 0 has no room"));
  EXPECT_THAT(withStrings(numbers({1, 99, 0})), HasSubstr("more than the string section has left"));
  EXPECT_THAT(withStrings(numbers({1, 1}) + Data{'x'}), HasSubstr("does not end in a zero byte"));
  EXPECT_THAT(withStrings(numbers({1, 1}) + Data{'x', 0}), HasSubstr("left over between"));
}

TEST(Guard, ChecksDialectsAndOperationNames) {
  TestFile file;
  file.dialects = {99};
  EXPECT_THAT(problemOf(file), HasSubstr("string number of a dialect name is 99"));
  file = {};
  file.strings[3] = "";
  EXPECT_THAT(problemOf(file), HasSubstr("dialect has an empty name"));
  file = {};
  file.operationNames = numbers({kHuge});
  EXPECT_THAT(problemOf(file), HasSubstr("number of operation names is"));
  file.operationNames = numbers({1, 9, 1, 1});
  EXPECT_THAT(problemOf(file), HasSubstr("dialect number is 9"));
  file.operationNames = numbers({1, 0, 1, flagged(77, true)});
  EXPECT_THAT(problemOf(file), HasSubstr("string number of an operation name is 77"));
  file = {};
  file.strings[4] = "";
  EXPECT_THAT(problemOf(file), HasSubstr("operation has an empty name"));
}

TEST(Guard, ChecksProperties) {
  TestFile file;
  file.properties = numbers({kHuge});
  EXPECT_THAT(problemOf(file), HasSubstr("number of properties is"));
  file.properties = numbers({1, 50});
  EXPECT_THAT(problemOf(file), HasSubstr("a property takes 50 bytes"));
  file.properties = numbers({0, 0});
  EXPECT_THAT(problemOf(file), HasSubstr("left over after the properties"));
}

TEST(Guard, ChecksResources) {
  auto withResources = [](const Data &offsets, const Data &data) {
    TestFile file;
    file.extra = section(SectionId::ResourceOffset, offsets) + section(SectionId::Resource, data);
    return problemOf(file);
  };
  EXPECT_EQ(withResources(numbers({0}), {}), "");
  EXPECT_EQ(withResources(numbers({0, 0, 1, 4, 3}) + Data{0}, numbers({1, 1, 0})), "");
  EXPECT_EQ(withResources(numbers({0, 0, 1, 4, 0}) + Data{0}, {}), "");
  EXPECT_THAT(withResources(numbers({kHuge}), {}), HasSubstr("external resource groups is"));
  EXPECT_THAT(withResources(numbers({0, 7, 0}), {}),
              HasSubstr("dialect number of a resource group is 7"));
  EXPECT_THAT(withResources(numbers({0, 0, 1, 4, 1}) + Data{9}, Data{0}),
              HasSubstr("unknown kind 9"));
  EXPECT_THAT(withResources(numbers({0, 0, 1, 4, 9}) + Data{0}, Data{0}),
              HasSubstr("a resource takes 9 bytes"));
  EXPECT_THAT(withResources(numbers({0, 0, 1, 4, 2}) + Data{0}, numbers({3, 0})),
              HasSubstr("alignment 3"));
  EXPECT_THAT(withResources(numbers({0, 0, 1, 4, 2}) + Data{0}, numbers({8, 0})),
              HasSubstr("above the alignment 1"));
  EXPECT_THAT(withResources(numbers({0, 0, 1, 4, 2}) + Data{0}, numbers({1, 60})),
              HasSubstr("resource data takes 60"));
  EXPECT_THAT(withResources(numbers({0}), Data{1}), HasSubstr("left over after the resources"));
}

TEST(Guard, ChecksEntryOffsets) {
  TestFile file;
  auto withOffsets = [&](const Data &offsets) {
    Data bytes = Data{'M', 'L', 0xEF, 'R'} + numbers({6}) + text("test");
    bytes = bytes + section(SectionId::Dialect, file.dialectSection());
    bytes = bytes + section(SectionId::AttrTypeOffset, offsets) +
            section(SectionId::AttrType, numbers({15}));
    bytes = bytes + section(SectionId::IR, file.irSection()) +
            section(SectionId::String, file.stringSection());
    return check(bytes + section(SectionId::Properties, file.properties)).problem.what;
  };
  EXPECT_EQ(withOffsets(numbers({1, 0, 0, 1, flagged(1, true)})), "");
  EXPECT_THAT(withOffsets(numbers({kHuge, 0})), HasSubstr("number of attributes is"));
  EXPECT_THAT(withOffsets(numbers({0, kHuge})), HasSubstr("number of types is"));
  EXPECT_THAT(withOffsets(numbers({1, 0, 0, 2, 2, 2})),
              HasSubstr("a group of 2 attributes where only 1 are left"));
  EXPECT_THAT(withOffsets(numbers({1, 0, 5, 1, 3})), HasSubstr("dialect number is 5"));
  EXPECT_THAT(withOffsets(numbers({1, 0, 0, 1, flagged(2, true)})),
              HasSubstr("lies past the end of its section"));
  EXPECT_THAT(withOffsets(numbers({1, 0, 0, 1, ~uint64_t(0)})),
              HasSubstr("lies past the end of its section"));
  EXPECT_THAT(withOffsets(numbers({1, 0, 0, 1, flagged(1, true), 0})),
              HasSubstr("left over after the attribute and"));
}

TEST(Guard, ChecksBuiltinAttributes) {
  TestFile file;
  uint64_t i32 = file.type(numbers({0, 32 << 2}));
  uint64_t f32 = file.type(numbers({5}));
  uint64_t i200 = file.type(numbers({0, 200 << 2}));
  uint64_t name = file.attribute(numbers({2, 2}));
  EXPECT_EQ(problemOf(file), "");
  EXPECT_THAT(ofAttribute(file, {}), HasSubstr("ends inside a builtin attribute's code"));
  EXPECT_THAT(ofAttribute(file, numbers({23})), HasSubstr("code 23 is newer"));
  EXPECT_THAT(ofAttribute(file, numbers({0, kHuge})), HasSubstr("length of an array is"));
  EXPECT_THAT(ofAttribute(file, numbers({0, 1, 50})), HasSubstr("attribute number is 50"));
  EXPECT_THAT(ofAttribute(file, numbers({1, kHuge})), HasSubstr("number of named attributes is"));
  EXPECT_THAT(ofAttribute(file, numbers({1, 1, 0, 0})), HasSubstr("is not a string"));
  EXPECT_THAT(ofAttribute(file, numbers({1, 2, name, 0, name, 0})),
              HasSubstr("'file.py' is in a dictionary twice"));
  EXPECT_THAT(ofAttribute(file, numbers({2, 70})), HasSubstr("string number is 70"));
  EXPECT_THAT(ofAttribute(file, numbers({4, 0})), HasSubstr("is not a string"));
  EXPECT_THAT(ofAttribute(file, numbers({6, 70})), HasSubstr("type number is 70"));
  EXPECT_THAT(ofAttribute(file, numbers({7, 0})), HasSubstr("left over in attribute 2"));
  EXPECT_THAT(ofAttribute(file, numbers({8, f32, 0})), HasSubstr("type is not an integer"));
  EXPECT_THAT(ofAttribute(file, numbers({8, i200, kHuge})), HasSubstr("words of a value is"));
  EXPECT_EQ(ofAttribute(file, numbers({8, i200, 1, 4})), "");
  EXPECT_THAT(ofAttribute(file, numbers({9, i32, 0})), HasSubstr("type is not a float"));
  EXPECT_THAT(ofAttribute(file, numbers({10, 0, name})), HasSubstr("is not a location"));
  EXPECT_THAT(ofAttribute(file, numbers({12, kHuge})), HasSubstr("fused locations is"));
  EXPECT_THAT(ofAttribute(file, numbers({20, 0, 0, 0})),
              HasSubstr("sparse elements are not supported"));
  EXPECT_THAT(ofAttribute(file, numbers({22, name, 5, 1, 2, 3, 4, 5})),
              HasSubstr("range of 5 numbers"));
}

TEST(Guard, ChecksElements) {
  TestFile file;
  uint64_t i32 = file.type(numbers({0, 32 << 2}));
  uint64_t i1 = file.type(numbers({0, 1 << 2}));
  uint64_t none = file.type(numbers({12}));
  uint64_t three = file.type(numbers({13, 1, zigzag(3), i32}));
  uint64_t flags = file.type(numbers({13, 1, zigzag(20), i1}));
  uint64_t dynamic = file.type(numbers({13, 1, zigzag(INT64_MIN), i32}));
  uint64_t empty = file.type(numbers({13, 2, zigzag(0), zigzag(5), i32}));
  auto bytes = [](size_t count) { return numbers({count}) + Data(count, 1); };
  EXPECT_EQ(ofAttribute(file, numbers({18, three}) + bytes(12)), "");
  EXPECT_EQ(ofAttribute(file, numbers({18, three}) + bytes(4)), "");
  EXPECT_EQ(ofAttribute(file, numbers({18, flags}) + bytes(3)), "");
  EXPECT_EQ(ofAttribute(file, numbers({18, flags, 1}) + Data{0xFF}), "");
  EXPECT_EQ(ofAttribute(file, numbers({18, empty, 0})), "");
  EXPECT_THAT(ofAttribute(file, numbers({18, three}) + bytes(8)),
              HasSubstr("3 elements of 32 bits has 8 bytes"));
  EXPECT_THAT(ofAttribute(file, numbers({18, flags}) + bytes(1)),
              HasSubstr("20 elements of 1 bits has 1 bytes"));
  EXPECT_THAT(ofAttribute(file, numbers({18, empty}) + bytes(4)),
              HasSubstr("0 elements of 32 bits has 4 bytes"));
  EXPECT_THAT(ofAttribute(file, numbers({18, dynamic}) + bytes(4)), HasSubstr("static shape"));
  EXPECT_THAT(ofAttribute(file, numbers({18, none}) + bytes(4)), HasSubstr("static shape"));
  EXPECT_THAT(ofAttribute(file, numbers({18, three, kHuge})),
              HasSubstr("the data of a dense attribute takes"));
  EXPECT_THAT(ofAttribute(file, numbers({16, three, 0})), HasSubstr("resource number is 0"));
  EXPECT_EQ(ofAttribute(file, numbers({17, i32, 2}) + bytes(8)), "");
  EXPECT_EQ(ofAttribute(file, numbers({17, i1, 3}) + bytes(3)), "");
  EXPECT_THAT(ofAttribute(file, numbers({17, i32, 3}) + bytes(8)),
              HasSubstr("array of 3 elements"));
  EXPECT_THAT(ofAttribute(file, numbers({17, none, 3}) + bytes(8)),
              HasSubstr("array elements must be"));
  uint64_t large = file.type(numbers({13, 1, zigzag(1 << 30), i32}));
  EXPECT_THAT(ofAttribute(file, numbers({19, large, 0, 0})),
              HasSubstr("number of strings is 1073741824"));
}

TEST(Guard, ChecksBuiltinTypes) {
  TestFile file;
  uint64_t i32 = file.type(numbers({0, 32 << 2}));
  uint64_t none = file.type(numbers({12}));
  EXPECT_THAT(ofType(file, numbers({0, 0})), HasSubstr("integer type of 0 bits"));
  EXPECT_THAT(ofType(file, numbers({0, 5000 << 2})), HasSubstr("integer type of 5000 bits"));
  EXPECT_THAT(ofType(file, numbers({0, 8 << 2 | 3})), HasSubstr("unknown signedness"));
  EXPECT_THAT(ofType(file, numbers({2, kHuge})), HasSubstr("number of inputs is"));
  EXPECT_THAT(ofType(file, numbers({9, none})), HasSubstr("complex numbers need"));
  EXPECT_THAT(ofType(file, numbers({13, 1, zigzag(-5), i32})), HasSubstr("dimension of size -5"));
  EXPECT_THAT(ofType(file, numbers({13, 2, zigzag(INT64_MAX), zigzag(2), i32})),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(ofType(file, numbers({13, 0, none})),
              HasSubstr("a tensor of type 1, which it cannot hold"));
  EXPECT_THAT(ofType(file, numbers({15, kHuge})), HasSubstr("number of tuple elements is"));
  EXPECT_THAT(ofType(file, numbers({19, 1, zigzag(0), i32})), HasSubstr("dimension of size 0"));
  EXPECT_THAT(ofType(file, numbers({19, 1, zigzag(2), none})), HasSubstr("vectors hold"));
  EXPECT_THAT(ofType(file, numbers({20, 1}) + Data{1} + numbers({2, zigzag(2), zigzag(2), i32})),
              HasSubstr("rank 2 has 1 scalable flags"));
  EXPECT_EQ(ofType(file, numbers({29})), "");
  EXPECT_EQ(ofType(file, numbers({32})), "");
  EXPECT_THAT(ofType(file, numbers({33})), HasSubstr("type code 33 is newer"));
  EXPECT_EQ(ofType(file, text("f6E3M2FN"), 0, false), "");
  // What stands for a type that MLIR 19 lacks is in tensors only.
  uint64_t rare = file.type(numbers({32}));
  EXPECT_EQ(ofType(file, numbers({13, 1, zigzag(4), rare})), "");
  EXPECT_THAT(ofType(file, numbers({9, rare})), HasSubstr("complex numbers need"));
  EXPECT_THAT(ofType(file, numbers({19, 1, zigzag(2), rare})), HasSubstr("vectors hold"));
  uint64_t layout = file.attribute(text("affine_map<(d0) -> (d0)>"), 0, false);
  EXPECT_EQ(ofType(file, numbers({10, 1, zigzag(4), i32, layout})), "");
  EXPECT_THAT(ofType(file, numbers({10, 2, zigzag(4), zigzag(4), i32, layout})),
              HasSubstr("a layout for rank 1"));
}

TEST(Guard, RefusesCyclesAndDepth) {
  // Arrays that hold each other, of builtin and of vhlo.
  for (uint64_t dialect : {0, 1}) {
    TestFile file;
    uint64_t array = dialect == 0 ? 0 : 1;
    file.attribute(numbers({array, 1, 2}), dialect);
    file.attribute(numbers({array, 1, 1}), dialect);
    EXPECT_THAT(problemOf(file), HasSubstr("contains itself"));
    TestFile chain;
    for (uint64_t i = 0; i < 1500; ++i)
      chain.attribute(numbers({array, 1, i}), dialect);
    EXPECT_THAT(problemOf(chain), HasSubstr("nested more than 1000 deep"));
    TestFile backwards;
    for (uint64_t i = 0; i < 1500; ++i)
      backwards.attribute(numbers({array, 1, i == 1499 ? 0 : i + 2}), dialect);
    EXPECT_THAT(problemOf(backwards), HasSubstr("nested more than 1000 deep"));
    TestFile doubling;
    for (uint64_t i = 0; i < 60; ++i)
      doubling.attribute(numbers({array, 2, i, i}), dialect);
    EXPECT_THAT(problemOf(doubling), HasSubstr("expands to more than"));
  }
  TestFile types;
  types.type(numbers({15, 1, 0}));
  EXPECT_THAT(problemOf(types), HasSubstr("type 0 contains itself"));
}

TEST(Guard, ChecksTextEntries) {
  TestFile file;
  EXPECT_EQ(ofAttribute(file, text("#vhlo.x<[1, 2]>"), 1, false), "");
  EXPECT_THAT(ofAttribute(file, {'x'}, 1, false), HasSubstr("has no terminating zero byte"));
  EXPECT_THAT(ofAttribute(file, {'x', 0, 'y', 0}, 1, false),
              HasSubstr("left over after an attribute or type in text"));
  EXPECT_THAT(ofAttribute(file, text(std::string(500, '[')), 1, false),
              HasSubstr("brackets are nested more than"));
}

TEST(Guard, ChecksKnownDialects) {
  TestFile file;
  EXPECT_THAT(ofAttribute(file, numbers({1, kHuge}), 1), HasSubstr("length of a list is"));
  EXPECT_THAT(ofAttribute(file, numbers({14, 70}), 1), HasSubstr("string number is 70"));
  EXPECT_THAT(ofAttribute(file, numbers({18, 2, 1, 1, 1}), 1),
              HasSubstr("left over in attribute 1 of dialect 'vhlo'"));
  EXPECT_THAT(ofType(file, numbers({20, 1, zigzag(-2), 0}), 1), HasSubstr("dimension of size -2"));
  EXPECT_EQ(ofAttribute(file, numbers({999, 5, 5}), 1), "")
      << "unknown codes are for the dialect to judge";
}

TEST(Guard, ChecksOperations) {
  EXPECT_EQ(problemOf(withOperations(
                2, 1, operation(Results, numbers({1, 0})) + operation(Operands, numbers({1, 0})))),
            "");
  EXPECT_EQ(problemOf(withOperations(
                2, 1, operation(Operands, numbers({1, 0})) + operation(Results, numbers({1, 0})))),
            "")
      << "a value may be used before it is defined";
  EXPECT_THAT(problemOf(withOperations(kHuge, 0, {})),
              HasSubstr("number of operations in a block is"));
  EXPECT_THAT(problemOf(withOperations(1, 0, numbers({9}) + Data{0} + numbers({0}))),
              HasSubstr("operation name number is 9"));
  EXPECT_THAT(problemOf(withOperations(1, 0, numbers({1}) + Data{0} + numbers({9}))),
              HasSubstr("attribute number is 9"));
  EXPECT_THAT(problemOf(withOperations(1, 0, operation(0x80, {}))),
              HasSubstr("parts of an unknown kind"));
  EXPECT_THAT(problemOf(withOperations(1, 0, operation(Attributes, numbers({0})))),
              HasSubstr("is not a dictionary"));
  EXPECT_THAT(problemOf(withOperations(1, 0, operation(Properties, numbers({0})))),
              HasSubstr("property number is 0"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Results, numbers({uint64_t(1) << 31})))),
              HasSubstr("number of results is 2147483648"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Results, numbers({1, 7})))),
              HasSubstr("type number is 7"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Results, numbers({2, 0, 0})))),
              HasSubstr("defines more than the 1"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Operands, numbers({kHuge})))),
              HasSubstr("number of operands is"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Operands, numbers({1, 1})))),
              HasSubstr("value number is 1"));
  EXPECT_THAT(problemOf(withOperations(1, 1, operation(Operands, numbers({1, 0})))),
              HasSubstr("used but never defined"));
  EXPECT_THAT(problemOf(withOperations(1, 0, operation(Successors, numbers({1, 1})))),
              HasSubstr("block number is 1"));
  EXPECT_THAT(problemOf(withOperations(1, kHuge, {})),
              HasSubstr("number of values in a region is"));
  EXPECT_THAT(problemOf(withOperations(0, 0, numbers({0}))),
              HasSubstr("left over after the last region"));
  TestFile file;
  file.region = numbers({kHuge});
  EXPECT_THAT(problemOf(file), HasSubstr("number of blocks is"));
}

TEST(Guard, ChecksBlockArguments) {
  auto withArguments = [](const Data &arguments, uint64_t values) {
    TestFile file;
    file.type(numbers({0, 32 << 2}));
    file.region = numbers({1, values, flagged(0, true)}) + arguments;
    return problemOf(file);
  };
  EXPECT_EQ(withArguments(numbers({1, flagged(0, true), 0}) + Data{0}, 1), "");
  EXPECT_THAT(withArguments(numbers({kHuge}), 1), HasSubstr("number of block arguments is"));
  EXPECT_THAT(withArguments(numbers({1, flagged(4, false)}), 1), HasSubstr("type number is 4"));
  EXPECT_THAT(withArguments(numbers({1, flagged(0, false)}), 0),
              HasSubstr("defines more than the 0"));
  TestFile outermost;
  outermost.ir = numbers({flagged(0, true), 1, 0});
  EXPECT_THAT(problemOf(outermost), HasSubstr("outermost block has arguments"));
}

// MLIR writes through the numbers of a use-list order before it looks at them.
TEST(Guard, ChecksUseListOrders) {
  auto withOrder = [](const Data &order) {
    return problemOf(withOperations(2, 1,
                                    operation(Results | Orders, numbers({1, 0}) + order) +
                                        operation(Operands, numbers({2, 0, 0}))));
  };
  EXPECT_EQ(withOrder(numbers({flagged(2, false), 1, 0})), "");
  EXPECT_EQ(withOrder(numbers({flagged(2, true), 0, 1})), "");
  EXPECT_THAT(withOrder(numbers({flagged(2, true), 500000, 1})),
              HasSubstr("does not fit the 2 uses"));
  EXPECT_THAT(withOrder(numbers({flagged(1, true), 1})), HasSubstr("does not fit the 2 uses"));
  EXPECT_THAT(withOrder(numbers({flagged(3, false), 0, 1, 1})),
              HasSubstr("does not fit the 2 uses"));
  EXPECT_THAT(withOrder(numbers({flagged(kHuge, false)})),
              HasSubstr("length of a use-list order is"));
  auto ofTwo = [](const Data &order) {
    return problemOf(withOperations(1, 2, operation(Results | Orders, numbers({2, 0, 0}) + order)));
  };
  EXPECT_THAT(ofTwo(numbers({1, 0xFFFFFFFF, 0, 0})),
              HasSubstr("value number of a use-list order is 4294967295"));
  EXPECT_THAT(ofTwo(numbers({0})), HasSubstr("empty set of use-list orders"));
  EXPECT_THAT(problemOf(withOperations(1, 0, operation(Orders, numbers({1, 0})))),
              HasSubstr("for no values"));
}

TEST(Guard, ChecksRegions) {
  auto withRegions = [](const Data &regions) {
    return problemOf(withOperations(1, 0, operation(Regions, regions)));
  };
  EXPECT_EQ(withRegions(numbers({flagged(2, false), 0, 0})), "");
  EXPECT_EQ(withRegions(numbers({flagged(2, true)}) + section(SectionId::IR, numbers({0, 0}))), "");
  EXPECT_THAT(withRegions(numbers({flagged(kHuge, false)})), HasSubstr("number of regions is"));
  EXPECT_THAT(
      withRegions(numbers({flagged(3, true)}) + section(SectionId::IR, numbers({0, 0})) + Data(9)),
      HasSubstr("their section has only 2 bytes"));
  EXPECT_THAT(withRegions(numbers({flagged(1, true)}) + section(SectionId::String, numbers({0}))),
              HasSubstr("not in an IR section"));
  EXPECT_THAT(withRegions(numbers({flagged(1, true)}) + section(SectionId::IR, numbers({0, 0}))),
              HasSubstr("left over after the last region"));
  for (bool isolated : {false, true}) {
    Data nest = numbers({0});
    for (int i = 0; i < 500; ++i) {
      Data inner = isolated ? section(SectionId::IR, nest) : nest;
      nest = numbers({1, 0, flagged(1, false)}) +
             operation(Regions, numbers({flagged(1, isolated)}) + inner);
    }
    EXPECT_THAT(withRegions(numbers({flagged(1, false)}) + nest),
                HasSubstr("regions are nested more than 400 deep"));
  }
}
