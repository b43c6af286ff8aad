# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kvern dialect: its generated builders, types and attributes."""

from ._kvern_ops_gen import *
