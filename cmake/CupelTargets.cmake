# The functions every folder's CMakeLists.txt is written with.
#
#   cupel_add_library(name SOURCES ... [DEPS ...] [MLIR|HUB])
#   cupel_add_executable(name SOURCES ... [DEPS ...] [MLIR|HUB])
#   cupel_add_unit_test(name SOURCES ... [DEPS ...] [MLIR])
#   cupel_compile_alone(source ...)
#   cupel_compile_fast()
#   cupel_compile_short()
#   cupel_tablegen(target td_file  generator-flags=output ...)
#
# MLIR marks code that may include MLIR and LLVM headers: it gets their include paths, their shared
# libraries and a precompiled header. Code without it must stay free of both. HUB is MLIR for code
# that works on the stablehlo dialect: the dialect's classes are in its precompiled header too.

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

# What code on MLIR is compiled with: headers as system headers, the two shared libraries. A target with the
# property CUPEL_OWN_MLIR takes what it needs of LLVM's and MLIR's archives into itself instead (decision 0073);
# the linker reads of all these archives only what is asked for.
file(GLOB mlir_archives ${CUPEL_LLVM_ROOT}/lib/libMLIR*.a)
file(GLOB llvm_archives ${CUPEL_LLVM_ROOT}/lib/libLLVM*.a)
if(NOT mlir_archives OR NOT llvm_archives)
  message(FATAL_ERROR "there are no archives of MLIR and LLVM in ${CUPEL_LLVM_ROOT}/lib")
endif()
# LLVM's archives use it; its header package is not needed for that.
find_library(CUPEL_LIB_ZSTD NAMES zstd libzstd.so.1 REQUIRED)
add_library(cupel_mlir INTERFACE)
set(own "$<BOOL:$<TARGET_PROPERTY:CUPEL_OWN_MLIR>>")
target_link_libraries(cupel_mlir INTERFACE cupel_flags
  "$<IF:${own},${mlir_archives};${llvm_archives};${CUPEL_LIB_ZSTD},${CUPEL_LIB_MLIR};${CUPEL_LIB_LLVM}>")
target_include_directories(cupel_mlir SYSTEM INTERFACE ${CUPEL_LLVM_ROOT}/include)
target_compile_options(cupel_mlir INTERFACE -fno-exceptions)
target_link_options(cupel_mlir INTERFACE "$<$<NOT:${own}>:-Wl,-rpath,${CUPEL_LLVM_ROOT}/lib>")

# Precompiled headers, shared by all targets of a kind. Parsing is the larger part of compiling most of
# our files: what half of a kind's files include belongs here, and nothing that changes every week.
set(standard_headers <algorithm> <array> <chrono> <cmath> <complex> <filesystem> <fstream> <functional>
  <map> <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <unordered_map>
  <variant> <vector> ${CMAKE_SOURCE_DIR}/cupel/support/Error.h)
set(mlir_headers
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Dialect/Quant/QuantTypes.h> <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <llvm/ADT/TypeSwitch.h> <llvm/ADT/StringSwitch.h>)
set(hub_headers <fmt/format.h> ${CMAKE_SOURCE_DIR}/cupel/ir/stablehlo/Stablehlo.h)
set(test_headers <gmock/gmock.h> <gtest/gtest.h>)
# The sources of unit tests are not optimised: what they test is, and GoogleTest's assertions cost the
# optimiser more than all the rest of a test.
set(test_options)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CUPEL_SANITIZE)
  set(test_options -O0)
endif()

# _cupel_add_pch(name flags-target headers...)
function(_cupel_add_pch name flags)
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
  target_link_libraries(${name} PUBLIC ${flags})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  # CMake gives the file that lists the headers an old date, so a change of the list alone would go
  # unnoticed until the compiler refuses the header.
  string(MD5 list "${ARGN}")
  target_compile_definitions(${name} PRIVATE CUPEL_PCH_LIST="${list}")
endfunction()
_cupel_add_pch(cupel_pch cupel_flags ${standard_headers} <fmt/format.h> <nlohmann/json.hpp>)
_cupel_add_pch(cupel_test_pch cupel_flags ${standard_headers} ${test_headers})
_cupel_add_pch(cupel_mlir_pch cupel_mlir ${standard_headers} ${mlir_headers})
_cupel_add_pch(cupel_mlir_test_pch cupel_mlir ${standard_headers} ${mlir_headers} ${test_headers})
foreach(pch cupel_test_pch cupel_mlir_test_pch)
  target_link_libraries(${pch} PUBLIC GTest::gtest GTest::gmock)
  target_compile_options(${pch} PRIVATE ${test_options})
endforeach()
_cupel_add_pch(cupel_hub_pch cupel_mlir ${standard_headers} ${mlir_headers} ${hub_headers})
add_dependencies(cupel_hub_pch cupel_ir_stablehlo_tablegen)

# Sources of a target are compiled sixteen at a time: what headers cost is paid once for the sixteen (decision
# 0034). CUPEL_TOGETHER=1 compiles each by itself, which shows that each includes what it uses.
set(CUPEL_TOGETHER 16 CACHE STRING "How many sources of a target are compiled as one")
# cupel_compile_alone(source ...): of this folder, which give names without linkage a meaning that a
# neighbour gives them too.
function(cupel_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# cupel_compile_fast(): the folder holds loops over elements, and is compiled with -O3 where the rest has -O2.
macro(cupel_compile_fast)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CUPEL_SANITIZE)
    add_compile_options(-O3)
  endif()
endmacro()

# cupel_compile_short(): nobody waits for the folder's code, so less of it is inlined, which compiles in four fifths of the
# time (decision 0034). For the folder and those below it.
macro(cupel_compile_short)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CUPEL_SANITIZE)
    add_compile_options("SHELL:-mllvm -inline-threshold=40")
  endif()
endmacro()

# `test` is _test for unit tests.
function(_cupel_configure_target name is_mlir is_hub test)
  if(CUPEL_TOGETHER GREATER 1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${CUPEL_TOGETHER})
  endif()
  if(is_hub)
    target_link_libraries(${name} PUBLIC cupel_mlir)
    target_precompile_headers(${name} REUSE_FROM cupel_hub_pch)
  elseif(is_mlir)
    target_link_libraries(${name} PUBLIC cupel_mlir)
    target_precompile_headers(${name} REUSE_FROM cupel_mlir${test}_pch)
  else()
    target_link_libraries(${name} PUBLIC cupel_flags)
    target_precompile_headers(${name} REUSE_FROM cupel${test}_pch)
  endif()
endfunction()

function(cupel_add_library name)
  cmake_parse_arguments(arg "MLIR;HUB" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  _cupel_configure_target(${name} "${arg_MLIR}" "${arg_HUB}" "")
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
  # A library that uses another's TableGen output must wait for it.
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET ${dep}_tablegen)
      add_dependencies(${name} ${dep}_tablegen)
    endif()
  endforeach()
endfunction()

function(cupel_add_executable name)
  cmake_parse_arguments(arg "MLIR;HUB" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  _cupel_configure_target(${name} "${arg_MLIR}" "${arg_HUB}" "")
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
endfunction()

# Unit test binaries end in "_test", lie in bin/unit/ and are found there by ./test.
function(cupel_add_unit_test name)
  cmake_parse_arguments(arg "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/unit)
  _cupel_configure_target(${name} "${arg_MLIR}" FALSE _test)
  target_compile_options(${name} PRIVATE ${test_options})
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
