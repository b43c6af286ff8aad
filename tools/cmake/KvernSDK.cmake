# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds the MLIR SDK. The wheels that pyproject.toml pins put it into
# <site-packages>/{llvm,mlir}; -DLLVM_DIR=... and -DMLIR_DIR=... name another.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
set(Python3_EXECUTABLE "${Python_EXECUTABLE}" CACHE FILEPATH "" FORCE)
if(NOT MLIR_DIR)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
      "from importlib.util import find_spec as f; print(';'.join(f(n).submodule_search_locations[0] for n in ('llvm', 'mlir')), end='')"
    OUTPUT_VARIABLE sdk
    COMMAND_ERROR_IS_FATAL ANY)
  list(GET sdk 0 llvm_root)
  list(GET sdk 1 mlir_root)
  set(LLVM_DIR "${llvm_root}/lib/cmake/llvm")
  set(MLIR_DIR "${mlir_root}/lib/cmake/mlir")
endif()
find_package(MLIR REQUIRED CONFIG)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION}: ${MLIR_DIR}, linked as ${KVERN_LINK}")

if(KVERN_LINK STREQUAL "dylib")
  set(MLIR_LINK_MLIR_DYLIB ON)
  set(LLVM_LINK_LLVM_DYLIB ON)
elseif(KVERN_LINK STREQUAL "static")
  # The SDK's MLIR libraries name libLLVM.so as what they need: they are given
  # LLVM's static libraries instead.
  set(LLVM_LINK_LLVM_DYLIB OFF)
  llvm_map_components_to_libnames(llvm_static
    BitReader BitWriter Core FrontendOpenMP IRReader Linker Passes Remarks
    Support TargetParser native)
  get_property(mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(lib IN LISTS mlir_libs)
    foreach(property INTERFACE_LINK_LIBRARIES MLIR_AGGREGATE_DEP_LIBS_IMPORTED)
      get_target_property(deps ${lib} ${property})
      if(deps AND "LLVM" IN_LIST deps)
        list(REMOVE_ITEM deps LLVM)
        set_property(TARGET ${lib} PROPERTY ${property} ${deps} ${llvm_static})
      endif()
    endforeach()
  endforeach()
else()
  message(FATAL_ERROR "expected KVERN_LINK to be dylib or static, but got '${KVERN_LINK}'")
endif()

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
set(LLVM_RUNTIME_OUTPUT_INTDIR "${PROJECT_BINARY_DIR}/bin")
set(LLVM_LIBRARY_OUTPUT_INTDIR "${PROJECT_BINARY_DIR}/lib")
set(LLVM_ENABLE_WARNINGS ON)
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(AddMLIRPython)
include(HandleLLVMOptions)
include(MLIRDetectPythonEnv)
mlir_configure_python_dev_packages()

# SYSTEM: their warnings are not ours.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${definitions})
