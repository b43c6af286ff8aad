# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the leaf CMakeLists.txt call: each is a list of files and of what they use.

# kvern_add_library(<name> <source>... [AGGREGATE] [DEPENDS <target>...]
#                   [LINK_LIBS <kvern library>...] [MLIR_LIBS <MLIR library>...]
#                   [LLVM_COMPONENTS <LLVM component>...])
# A library that may use MLIR and LLVM. With KVERN_LINK=dylib, libMLIR.so stands for
# all of MLIR_LIBS. AGGREGATE: a C API library, embedded by the Python package's
# common library. A library that has no source yet only passes on its LINK_LIBS.
function(kvern_add_library name)
  cmake_parse_arguments(ARG "AGGREGATE" ""
    "DEPENDS;LINK_LIBS;MLIR_LIBS;LLVM_COMPONENTS" ${ARGN})
  if(KVERN_LINK STREQUAL "dylib")
    set(mlir_libs MLIR)
  else()
    set(mlir_libs ${ARG_MLIR_LIBS})
  endif()
  if(NOT ARG_UNPARSED_ARGUMENTS)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_LINK_LIBS} ${mlir_libs})
    if(ARG_DEPENDS)
      add_dependencies(${name} ${ARG_DEPENDS})
    endif()
    return()
  endif()
  set(options DEPENDS ${ARG_DEPENDS} LINK_COMPONENTS ${ARG_LLVM_COMPONENTS}
    LINK_LIBS PUBLIC ${ARG_LINK_LIBS} ${mlir_libs})
  if(ARG_AGGREGATE)
    add_mlir_public_c_api_library(${name} ${ARG_UNPARSED_ARGUMENTS}
      DISABLE_INSTALL PARTIAL_SOURCES_INTENDED ${options})
  else()
    add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS}
      DISABLE_INSTALL EXCLUDE_FROM_LIBMLIR PARTIAL_SOURCES_INTENDED ${options})
  endif()
endfunction()

# kvern_add_op_families(<name>...): each ops/<name>.td becomes ops/<name>.h.inc and .cpp.inc.
function(kvern_add_op_families)
  foreach(family IN LISTS ARGN)
    set(LLVM_TARGET_DEFINITIONS "ops/${family}.td")
    mlir_tablegen("ops/${family}.h.inc" -gen-op-decls)
    mlir_tablegen("ops/${family}.cpp.inc" -gen-op-defs)
  endforeach()
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

# kvern_add_passes(<group>): the folder's Passes.td becomes Passes.h.inc; its
# registration is registerKvern<group>Passes().
function(kvern_add_passes group)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name Kvern${group})
  add_public_tablegen_target(Kvern${group}PassesIncGen)
endfunction()

# kvern_link_mlir(<target> <PUBLIC|PRIVATE> <MLIR library>...)
# For executables: the named static libraries, or libMLIR.so in their place.
function(kvern_link_mlir target scope)
  if(KVERN_LINK STREQUAL "dylib")
    target_link_libraries(${target} ${scope} MLIR LLVM)
  else()
    target_link_libraries(${target} ${scope} ${ARGN})
  endif()
endfunction()

# kvern_set_rpath(<target> <folder in the installed kvern package>)
# Lets an installed file find the SDK's libraries in its own site-packages,
# wherever that is.
function(kvern_set_rpath target folder)
  string(REGEX REPLACE "[^/]+" ".." up "kvern/${folder}")
  set(rpath "$ORIGIN")
  if(KVERN_LINK STREQUAL "dylib")
    list(APPEND rpath "$ORIGIN/${up}/mlir/lib" "$ORIGIN/${up}/llvm/lib")
  endif()
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH OFF
    BUILD_RPATH "$ORIGIN;${MLIR_INSTALL_PREFIX}/lib;${LLVM_LIBRARY_DIR}"
    INSTALL_RPATH "${rpath}")
endfunction()
