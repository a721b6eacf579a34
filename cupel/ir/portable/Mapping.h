// How the attributes of each stablehlo operation map to those of its newest portable form. The
// table is derived from the definitions (cupel/ir/vhlo/GenerateOpTable.py); here are the codecs it
// names.
#pragma once

#include "cupel/ir/portable/Values.h"

namespace cupel::portable {

/// The kinds of attributes, told apart where the portable form alone does not say how to go back.
enum class Codec : uint8_t {
  Plain,       // The same attribute, converted on its own.
  Integers,    // An array of 64-bit integers <-> a rank-1 tensor.
  Booleans,    // An array of booleans <-> a rank-1 tensor.
  Symbol,      // A symbol <-> a string.
  Symbols,     // An array of symbols <-> an array of strings.
  Unit,        // Present or not <-> a boolean.
  ApiVersion,  // A 32-bit integer <-> an enumeration.
  Version,     // A 32-bit integer, whose portable default is a 64-bit one.
  ChannelId,   // The number of a channel; its type is not kept.
  Channel,     // Number and type of a channel.
  Convolution, // Dimension numbers and the like <-> one attribute for each part.
  Dot,
  DotAlgorithm,
  Gather,
  Scatter,
};

struct AttributeMapping {
  llvm::StringLiteral name;
  Codec codec;
  /// One, or as many as the codec makes, in its order.
  llvm::ArrayRef<llvm::StringLiteral> portable;
};

struct OpMapping {
  llvm::StringLiteral op;
  llvm::ArrayRef<AttributeMapping> attributes;
};

/// The attributes of a stablehlo operation ("gather").
llvm::ArrayRef<AttributeMapping> mappingOf(llvm::StringRef op);

/// The portable attributes of an attribute that is present; nothing, with the encoder's reason, if
/// it has none.
std::optional<llvm::SmallVector<mlir::Attribute>> encode(Codec codec, mlir::Attribute attr,
                                                         Encoder &encoder);

/// The attribute that portable ones stand for; null, with the decoder's reason, if they are
/// malformed.
mlir::Attribute decode(Codec codec, llvm::ArrayRef<mlir::Attribute> portable, Decoder &decoder);

} // namespace cupel::portable
