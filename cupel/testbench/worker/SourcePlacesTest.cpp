#include "cupel/testbench/worker/SourcePlaces.h"

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::testbench::worker {
namespace {

using namespace mlir;

class SourcePlacesTest : public ::testing::Test {
protected:
  Location line(const char *file, unsigned number) {
    return FileLineColLoc::get(&context, file, number, 3);
  }
  Location named(const char *name, Location inner) {
    return NameLoc::get(StringAttr::get(&context, name), inner);
  }
  MLIRContext context;
};

TEST_F(SourcePlacesTest, NamesTheLineOfTheModelAndWhatWroteItForIt) {
  Location library = named("Conv.__call__", line("/v/lib/python3.11/site-packages/flax/linear.py", 7));
  Location model = named("Cnn.__call__", line("/zoo/cnn/jax/loader.py", 31));
  Location tracer = line("/opt/cupel/worker/jax_program.py", 79);
  Location stack = CallSiteLoc::get(library, CallSiteLoc::get(model, tracer));
  SourcePlace place = sourcePlaceOf(named("jit(function)/jvp(whole)/Cnn/Conv_0", stack));
  EXPECT_EQ(place.line, "/zoo/cnn/jax/loader.py:31:3");
  EXPECT_EQ(place.through, "/v/lib/python3.11/site-packages/flax/linear.py:7:3");
  EXPECT_EQ(place.layer, "Cnn/Conv_0");
}

TEST_F(SourcePlacesTest, ALibraryIsNamedWhereNobodyElseIs) {
  SourcePlace place = sourcePlaceOf(line("/v/site-packages/jax/numpy.py", 5));
  EXPECT_EQ(place.line, "/v/site-packages/jax/numpy.py:5:3");
  EXPECT_EQ(place.through, "");
  EXPECT_EQ(place.layer, "");
}

TEST_F(SourcePlacesTest, ANameIsAPlaceWhereThereIsNoLine) {
  EXPECT_EQ(sourcePlaceOf(named("node_linear", UnknownLoc::get(&context))).line, "node_linear");
  EXPECT_EQ(sourcePlaceOf(line("model.mlir", 4)).line, "model.mlir:4:3");
}

} // namespace
} // namespace cupel::testbench::worker
