# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Uses ccache and lld when they are there; an explicit choice wins.
find_program(KVERN_CCACHE ccache)
mark_as_advanced(KVERN_CCACHE)
if(KVERN_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${KVERN_CCACHE}" CACHE STRING "")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${KVERN_CCACHE}" CACHE STRING "")
endif()

find_program(KVERN_LLD ld.lld)
mark_as_advanced(KVERN_LLD)
if(KVERN_LLD AND NOT DEFINED LLVM_USE_LINKER)
  set(LLVM_USE_LINKER lld CACHE STRING "Linker, as in -fuse-ld=")
endif()
