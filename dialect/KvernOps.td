//===- KvernOps.td - All ops of the dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_OPS_TD
#define KVERN_OPS_TD

include "dialect/ops/Elementwise.td"
include "dialect/ops/Contraction.td"
include "dialect/ops/Reduction.td"
include "dialect/ops/Norm.td"
include "dialect/ops/Shape.td"
include "dialect/ops/Indexing.td"
include "dialect/ops/Constant.td"
include "dialect/ops/Call.td"
include "dialect/ops/Buffer.td"
include "dialect/ops/Check.td"
include "dialect/ops/Host.td"
include "dialect/ops/Packed.td"
include "dialect/ops/Derived.td"
include "dialect/ops/Attention.td"
include "dialect/ops/KVCache.td"
include "dialect/ops/Convolution.td"
include "dialect/ops/Pooling.td"
include "dialect/ops/Quant.td"
include "dialect/ops/Parallel.td"
include "dialect/ops/Trace.td"
include "dialect/ops/Sampling.td"

#endif // KVERN_OPS_TD
