// Types and attributes of stablehlo and of MLIR in their vhlo form and back, each on its own. What
// an attribute means for its operation (splits, defaults) is in Mapping.h.
#pragma once

#include "cupel/ir/vhlo/Vhlo.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace cupel::portable {

/// From stablehlo and MLIR to vhlo.
class Encoder {
public:
  /// `keepForeign`: attributes that vhlo has no form for stay as they are.
  Encoder(mlir::MLIRContext *context, bool keepForeign)
      : context(context), keepForeign(keepForeign) {}

  /// Null if there is no portable form; `reason` then says of what.
  mlir::Type type(mlir::Type type);
  mlir::Attribute attribute(mlir::Attribute attr);
  mlir::LogicalResult types(mlir::TypeRange types, llvm::SmallVectorImpl<mlir::Type> &result);

  mlir::Attribute integers(llvm::ArrayRef<int64_t> values);
  mlir::Attribute integer(int64_t value);

  mlir::MLIRContext *const context;
  /// Why the last conversion failed.
  std::string reason;

private:
  mlir::Type convertType(mlir::Type type);
  mlir::Attribute convertAttribute(mlir::Attribute attr);
  mlir::Attribute encoding(mlir::Attribute attr);

  bool keepForeign;
  llvm::DenseMap<mlir::Type, mlir::Type> typeCache;
};

/// From vhlo to stablehlo and MLIR. Attributes and types of other dialects pass unchanged.
class Decoder {
public:
  explicit Decoder(mlir::MLIRContext *context) : context(context) {}

  /// Null if the value is malformed or needs a type that this MLIR lacks; `reason` says which.
  mlir::Type type(mlir::Type type);
  mlir::Attribute attribute(mlir::Attribute attr);
  mlir::LogicalResult types(mlir::TypeRange types, llvm::SmallVectorImpl<mlir::Type> &result);

  /// Each is nothing, with a reason, if the attribute is of another kind.
  std::optional<llvm::SmallVector<int64_t>> integers(mlir::Attribute attr);
  std::optional<int64_t> integer(mlir::Attribute attr);
  std::optional<bool> boolean(mlir::Attribute attr);
  std::optional<llvm::StringRef> string(mlir::Attribute attr);

  mlir::MLIRContext *const context;
  std::string reason;

private:
  mlir::Type convertType(mlir::Type type);
  mlir::Attribute convertAttribute(mlir::Attribute attr);
  mlir::Attribute unexpected(llvm::StringRef expected, mlir::Attribute attr);

  llvm::DenseMap<mlir::Type, mlir::Type> typeCache;
};

/// What a type or attribute is called in a message.
std::string describe(mlir::Type type);
std::string describe(mlir::Attribute attr);

} // namespace cupel::portable
