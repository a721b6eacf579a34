// The translation unit that owns a precompiled header.
