// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stages and their passes, in order.
#include "lib/Pipelines/Pipelines.h"

void kvern::registerPipelines() {}
