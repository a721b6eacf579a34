# The functions every folder's CMakeLists.txt is written with.
#
#   cupel_add_library(name SOURCES ... [DEPS ...] [MLIR])
#   cupel_add_executable(name SOURCES ... [DEPS ...] [MLIR])
#   cupel_add_unit_test(name SOURCES ... [DEPS ...] [MLIR])
#   cupel_tablegen(target td_file  generator-flags=output ...)
#
# MLIR marks code that may include MLIR and LLVM headers: it gets their include paths, their shared
# libraries and a precompiled header. Code without it must stay free of both.

set(CUPEL_LLVM_ROOT "/usr/lib/llvm-19" CACHE PATH "Where LLVM and MLIR 19 are installed")
find_program(CUPEL_MLIR_TBLGEN mlir-tblgen HINTS ${CUPEL_LLVM_ROOT}/bin NO_DEFAULT_PATH REQUIRED)
find_program(CUPEL_LLVM_TBLGEN llvm-tblgen HINTS ${CUPEL_LLVM_ROOT}/bin NO_DEFAULT_PATH REQUIRED)
find_library(CUPEL_LIB_MLIR MLIR HINTS ${CUPEL_LLVM_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
find_library(CUPEL_LIB_LLVM LLVM HINTS ${CUPEL_LLVM_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

# What all our code is compiled with. -fPIC for executables too (CMake would say -fPIE there):
# libraries and executables share one precompiled header.
add_library(cupel_flags INTERFACE)
target_include_directories(cupel_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(cupel_flags INTERFACE
  -Wall -Wextra -Werror -Wno-unused-parameter -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -fno-omit-frame-pointer -fvisibility=hidden -fvisibility-inlines-hidden
  -fdata-sections -ffunction-sections -fPIC)
target_link_options(cupel_flags INTERFACE -fuse-ld=lld-19 -Wl,--gc-sections)
target_link_libraries(cupel_flags INTERFACE Threads::Threads)
# ccache reuses objects that were compiled with a precompiled header only if clang leaves its
# timestamp out and ccache is told that this is fine (CCACHE_SLOPPINESS in scripts/lib.sh).
target_compile_options(cupel_flags INTERFACE -Xclang -fno-pch-timestamp)
if(CUPEL_SANITIZE)
  if(CUPEL_SANITIZE STREQUAL "thread")
    set(sanitizers -fsanitize=thread)
    set(runtime tsan)
  else()
    set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=undefined)
    set(runtime asan)
  endif()
  # One runtime for a process and all it loads, as a shared library: Python, which is not ours, is
  # started with it preloaded (scripts/run_suites.py) and can then load our libraries.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER}
      --print-file-name=libclang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR}.so
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT EXISTS "${found}")
    message(FATAL_ERROR "the compiler has no shared runtime for CUPEL_SANITIZE=${CUPEL_SANITIZE} "
      "(${found}); Debian's package libclang-rt-19-dev brings it")
  endif()
  set(CUPEL_SANITIZER_RUNTIME "${found}" CACHE INTERNAL "What a foreign process must preload")
  get_filename_component(runtime_folder "${found}" DIRECTORY)
  target_compile_options(cupel_flags INTERFACE ${sanitizers} -g1)
  target_link_options(cupel_flags INTERFACE ${sanitizers} -shared-libsan
    -Wl,-rpath,${runtime_folder})
  target_compile_definitions(cupel_flags INTERFACE CUPEL_SANITIZED)
endif()

# What code on MLIR is compiled with: headers as system headers, the two shared libraries.
add_library(cupel_mlir INTERFACE)
target_link_libraries(cupel_mlir INTERFACE cupel_flags ${CUPEL_LIB_MLIR} ${CUPEL_LIB_LLVM})
target_include_directories(cupel_mlir SYSTEM INTERFACE ${CUPEL_LLVM_ROOT}/include)
target_compile_options(cupel_mlir INTERFACE -fno-exceptions)
target_link_options(cupel_mlir INTERFACE -Wl,-rpath,${CUPEL_LLVM_ROOT}/lib)

# One precompiled header for everything on MLIR; the others take theirs from here.
add_library(cupel_mlir_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_link_libraries(cupel_mlir_pch PUBLIC cupel_mlir)
set(mlir_headers
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Dialect/Quant/QuantTypes.h> <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <llvm/ADT/TypeSwitch.h> <llvm/ADT/StringSwitch.h> <string> <vector> <optional>)
target_precompile_headers(cupel_mlir_pch PRIVATE ${mlir_headers})

# The same for everything else, and for unit tests of both kinds: GoogleTest costs a second a file.
set(standard_headers <algorithm> <array> <chrono> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <span> <sstream> <string> <string_view> <variant> <vector>)
add_library(cupel_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_link_libraries(cupel_pch PUBLIC cupel_flags)
target_precompile_headers(cupel_pch PRIVATE ${standard_headers})
add_library(cupel_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_link_libraries(cupel_test_pch PUBLIC cupel_flags GTest::gtest GTest::gmock)
target_precompile_headers(cupel_test_pch PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
add_library(cupel_mlir_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_link_libraries(cupel_mlir_test_pch PUBLIC cupel_mlir GTest::gtest GTest::gmock)
target_precompile_headers(cupel_mlir_test_pch PRIVATE ${mlir_headers} <gmock/gmock.h> <gtest/gtest.h>)

# `pch` is the end of the precompiled header's name: _pch or _test_pch.
function(_cupel_configure_target name is_mlir pch)
  if(is_mlir)
    target_link_libraries(${name} PUBLIC cupel_mlir)
    target_precompile_headers(${name} REUSE_FROM cupel_mlir${pch})
  else()
    target_link_libraries(${name} PUBLIC cupel_flags)
    target_precompile_headers(${name} REUSE_FROM cupel${pch})
  endif()
endfunction()

function(cupel_add_library name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  _cupel_configure_target(${name} "${arg_MLIR}" _pch)
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  # A library that uses another's TableGen output must wait for it.
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET ${dep}_tablegen)
      add_dependencies(${name} ${dep}_tablegen)
    endif()
  endforeach()
endfunction()

function(cupel_add_executable name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  _cupel_configure_target(${name} "${arg_MLIR}" _pch)
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
endfunction()

# Unit test binaries end in "_test", lie in bin/unit/ and are found there by ./test.
function(cupel_add_unit_test name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/unit)
  _cupel_configure_target(${name} "${arg_MLIR}" _test_pch)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# cupel_tablegen(target Some.td -gen-op-decls=Some.h.inc -gen-op-defs=Some.cpp.inc ...)
# Extra flags of one generator are separated by spaces: "-gen-dialect-decls -dialect=check=X.h.inc".
# Outputs land beside the source in the build tree, so `#include "cupel/ir/x/Some.h.inc"` finds them.
# All outputs are made before `target` is compiled, through the target `<target>_tablegen`.
function(cupel_tablegen target td)
  set(outputs)
  foreach(spec IN LISTS ARGN)
    string(REGEX MATCH "^(.*)=([^=]+)$" _ "${spec}")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_1}")
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${CMAKE_MATCH_2})
    add_custom_command(OUTPUT ${out}
      COMMAND ${CUPEL_MLIR_TBLGEN} ${flags} -I ${CUPEL_LLVM_ROOT}/include -I ${CMAKE_SOURCE_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${td} --write-if-changed -o ${out} -d ${out}.d
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
      DEPFILE ${out}.d
      COMMENT "TableGen ${CMAKE_MATCH_2}")
    list(APPEND outputs ${out})
  endforeach()
  get_filename_component(stem ${td} NAME_WE)
  add_custom_target(${target}_${stem}_tablegen DEPENDS ${outputs})
  if(NOT TARGET ${target}_tablegen)
    add_custom_target(${target}_tablegen)
  endif()
  add_dependencies(${target}_tablegen ${target}_${stem}_tablegen)
  if(TARGET ${target})
    add_dependencies(${target} ${target}_tablegen)
  endif()
endfunction()
