// The translation unit that owns the precompiled header of all code on MLIR.
