# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Read by _mlir_libs/__init__.py: register_dialects adds our dialects to every new
# Context; context_init_hook loads the few that the bindings build directly. The
# others load when the parser or a pass meets them.
from ._kvern import context_init_hook as context_init_hook
from ._kvern import register_dialects as register_dialects

disable_load_all_available_dialects = True
