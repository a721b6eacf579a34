// A shared library that is no PJRT plugin: it exports something, but not GetPjrtApi.
extern "C" __attribute__((visibility("default"))) int notAPlugin() { return 1; }
