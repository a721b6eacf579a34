// Repeats a computation: written out trip by trip where trips are few, as stablehlo.while where
// they are many. Used by Loop, Scan, the recurrent layers and linear attention, so that each says
// once what a trip does.
#pragma once

#include "cupel/frontends/onnx/Lowering.h"

namespace cupel::frontends::onnx_import {

/// Up to so many trips are written out.
constexpr int64_t kWrittenOut = 32;

struct Trip {
  llvm::SmallVector<mlir::Value> carried; ///< To the next trip; types stay as they are.
  mlir::Value goOn;                       ///< A scalar bool; null: there is always a next trip.
  llvm::SmallVector<mlir::Value> stacked; ///< Kept of every trip, on a new dimension 0.
};

/// `index` is the trip's number, an i64 scalar; `known` is the same where it is known, else -1.
using TripBody = std::function<Result<Trip>(mlir::Value index, int64_t known,
                                            llvm::ArrayRef<mlir::Value> carried)>;

struct Repeated {
  llvm::SmallVector<mlir::Value> carried, stacked;
};

/// Writes every trip out. `backward` runs from the last trip to the first; what is stacked stays in
/// the order of numbers. Bodies that decide to end are not for this one.
Result<Repeated> writeOut(Node &n, int64_t trips, bool backward,
                          llvm::ArrayRef<mlir::Value> carried, const TripBody &body);

/// Writes stablehlo.while of at most `trips` trips, or of any number if that is negative (then
/// nothing can be stacked). `goOn` is the first trip's condition, or null.
Result<Repeated> writeWhile(Node &n, int64_t trips, bool backward, mlir::Value goOn,
                            llvm::ArrayRef<mlir::Value> carried, const TripBody &body);

/// One or the other, by the number of trips.
Result<Repeated> repeat(Node &n, int64_t trips, bool backward, llvm::ArrayRef<mlir::Value> carried,
                        const TripBody &body);

/// Entry `index` of one dimension, which goes away.
mlir::Value entryAt(HloBuilder &b, mlir::Value x, int64_t dimension, mlir::Value index,
                    int64_t known);

} // namespace cupel::frontends::onnx_import
