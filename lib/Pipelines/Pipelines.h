// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's stages by name: the only place that orders passes.
#ifndef KVERN_LIB_PIPELINES_PIPELINES_H
#define KVERN_LIB_PIPELINES_PIPELINES_H

namespace kvern {
/// Registers one pipeline a stage, `kvern-to-<stage>`: all that turns a staged
/// graph into that stage's form.
void registerPipelines();
} // namespace kvern

#endif // KVERN_LIB_PIPELINES_PIPELINES_H
