//===- KvernToLinalg.h - Kernels as linalg on tensors ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The patterns of the pass kvern-convert-to-linalg, one population function a
// family. They expect to run inside a function whose dimension names are index
// arguments (see DimValues).
//
//===----------------------------------------------------------------------===//

#ifndef KVERN_LIB_CONVERSION_KVERNTOLINALG_KVERNTOLINALG_H
#define KVERN_LIB_CONVERSION_KVERNTOLINALG_KVERNTOLINALG_H

#include "mlir/Transforms/DialectConversion.h"

namespace kvern {

/// Tensors become builtin tensors and buffers memrefs; signs of integers and
/// names of sizes are lost.
class KernelTypeConverter : public mlir::TypeConverter {
public:
  KernelTypeConverter();
};

void populateElementwisePatterns(mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateContractionPatterns(mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populatePackedPatterns(mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns);
void populateConvolutionPatterns(mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateTransposedConvolutionPatterns(mlir::TypeConverter &converter,
                                           mlir::RewritePatternSet &patterns);
void populatePoolingPatterns(mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateAttentionPatterns(mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);
void populateSamplingPatterns(mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateQuantPatterns(mlir::TypeConverter &converter,
                           mlir::RewritePatternSet &patterns);
void populateReductionPatterns(mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);
void populateNormPatterns(mlir::TypeConverter &converter,
                          mlir::RewritePatternSet &patterns);
void populateShapePatterns(mlir::TypeConverter &converter,
                           mlir::RewritePatternSet &patterns);
void populateSlicePatterns(mlir::TypeConverter &converter,
                           mlir::RewritePatternSet &patterns);
void populateIndexingPatterns(mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateConstantPatterns(mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateBufferPatterns(mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns);
void populateKVCachePatterns(mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);

} // namespace kvern

#endif // KVERN_LIB_CONVERSION_KVERNTOLINALG_KVERNTOLINALG_H
