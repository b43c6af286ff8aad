// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVERN_BINDING_TD
#define KVERN_BINDING_TD

include "dialect/KvernOps.td"

#endif // KVERN_BINDING_TD
