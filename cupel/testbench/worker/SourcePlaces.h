// Where the model's own source says what an operation does: of all the lines that a location names
// (JAX names the whole stack of calls) the one that the model's author wrote. Used by whoever names
// operations to people; it never names a line that the location does not.
#pragma once

#include <mlir/IR/Location.h>
#include <string>

namespace cupel::testbench::worker {

struct SourcePlace {
  std::string line;    ///< `model.py:17:4`, or what the location is called where it names no line.
  std::string through; ///< The line of a library that wrote the operation for it; else empty.
  std::string layer;   ///< `Cnn/Conv_0/conv_general_dilated`, where the location has such a name.
};

SourcePlace sourcePlaceOf(mlir::Location location);

} // namespace cupel::testbench::worker
