//===- KVCache.cpp - Keys and values in pages -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/ops/KVCache.h"

#include "dialect/Inference.h"
#include "dialect/ops/KVCacheCombinations.h"

using namespace mlir;
using namespace kvern;

#define GET_OP_CLASSES
#include "dialect/ops/KVCache.cpp.inc"

void KvernDialect::registerKVCacheOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/ops/KVCache.cpp.inc"
      >();
}

static ArrayRef<DimAttr> getShape(Value value) {
  if (auto buffer = dyn_cast<BufferType>(value.getType())) {
    return buffer.getShape();
  }
  return cast<kvern::TensorType>(value.getType()).getShape();
}

static DeviceAttr getDevice(Value value) {
  if (auto buffer = dyn_cast<BufferType>(value.getType())) {
    return buffer.getDevice();
  }
  if (auto cache = dyn_cast<PagedCacheType>(value.getType())) {
    return cache.getDevice();
  }
  return cast<kvern::TensorType>(value.getType()).getDevice();
}

static LogicalResult checkOneDevice(InferError error, DeviceAttr device,
                                    ValueRange operands) {
  for (Value operand : operands) {
    if (getDevice(operand) != device) {
      return error("expected operands on one device, but got ", device.str(),
                   " and ", getDevice(operand).str());
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

/// The scales against the blocks; the elements that share one, or 0.
static FailureOr<int64_t>
getGranularity(InferError error, ArrayRef<DimAttr> blocks, Value scales) {
  if (!scales) {
    return 0;
  }
  ArrayRef<DimAttr> shape = getShape(scales);
  std::optional<int64_t> groups;
  if (shape.size() == 6 && shape.drop_back() == blocks.drop_back()) {
    groups = shape.back().getStaticValue();
  }
  int64_t headDim = *blocks.back().getStaticValue();
  // paged_cache_c6
  if (!groups || *groups <= 0 || headDim % *groups != 0) {
    return error("expected scales of the sizes of blocks ", toString(blocks),
                 " but for the last, which divides it, but got ",
                 toString(shape));
  }
  // paged_cache_c7
  if (!cast<BufferType>(scales.getType()).getElementType().isF32()) {
    return error("expected scales of element type f32, but got ",
                 scales.getType());
  }
  return headDim / *groups;
}

LogicalResult PagedCacheOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto type = cast<BufferType>(adaptor.getBlocks().getType());
  // paged_cache_c1
  if (failed(checkOneDevice(error, type.getDevice(), adaptor.getOperands()))) {
    return failure();
  }
  ArrayRef<DimAttr> blocks = type.getShape();
  // paged_cache_c2
  if (blocks.size() != 6 || !llvm::all_of(blocks.drop_front(), [](DimAttr dim) {
        return dim.isStatic();
      })) {
    return error("expected blocks of shape [pages, 2 or 1, layers, page_size, "
                 "heads, head_dim], static but for the pages, but got ",
                 toString(blocks));
  }
  // paged_cache_c3
  if (!blocks[1].isStatic(1) && !blocks[1].isStatic(2)) {
    return error("expected blocks whose second size is 2, for keys and values, "
                 "or 1, but got ",
                 toString(blocks));
  }
  ArrayRef<DimAttr> lengths = getShape(adaptor.getCacheLengths()),
                    table = getShape(adaptor.getTable());
  // paged_cache_c4
  if (lengths.size() != 1 || table.size() != 2 || lengths[0] != table[0]) {
    return error("expected cache_lengths of shape [sequences] and a table of "
                 "shape [sequences, pages], but got ",
                 toString(lengths), " and ", toString(table));
  }
  for (Value bound :
       {adaptor.getMaxPromptLength(), adaptor.getMaxCacheLength()}) {
    ArrayRef<DimAttr> shape = getShape(bound);
    DimAttr elements = getNumElements(context, shape);
    // paged_cache_c5
    if (!elements || !elements.isStatic(1)) {
      return error("expected max_prompt_length and max_cache_length of one "
                   "element, but got shape ",
                   toString(shape));
    }
  }
  // paged_cache_type_c1
  for (DimAttr size : blocks.drop_front()) {
    if (*size.getStaticValue() <= 0) {
      return error("expected blocks of sizes above 0, but got shape ",
                   toString(blocks));
    }
  }
  FailureOr<int64_t> granularity =
      getGranularity(error, blocks, adaptor.getScales());
  if (failed(granularity)) {
    return failure();
  }
  auto size = [&](int axis) { return *blocks[axis].getStaticValue(); };
  bool latent = size(1) == 1;
  CacheVerdict verdict =
      judgeCache(type.getElementType(), *granularity, size(4), size(5), latent);
  if (verdict.support == CacheSupport::Refused) {
    return error(verdict.text);
  }
  results.push_back(PagedCacheType::get(lengths[0], size(2), size(3), size(4),
                                        size(5), latent, type.getElementType(),
                                        *granularity, type.getDevice()));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops on it
//===----------------------------------------------------------------------===//

static LogicalResult checkBatch(InferError error, ValueRange operands,
                                PagedCacheType cache, Value offsets,
                                Value layer) {
  for (Value operand : operands) {
    // kv_cache_c1
    if (getDevice(operand) != cache.getDevice()) {
      return error("expected operands on the device of the cache (",
                   cache.getDevice().str(), "), but got one on ",
                   getDevice(operand).str());
    }
  }
  ArrayRef<DimAttr> shape = getShape(offsets);
  // kv_cache_c2
  if (shape.size() != 1 || shape[0] != cache.getSequences() + 1) {
    return error("expected offsets of shape [",
                 (cache.getSequences() + 1).str(),
                 "], one more than the sequences of the cache, but got ",
                 toString(shape));
  }
  // kv_cache_c3
  if (!getShape(layer).empty()) {
    return error("expected a layer of rank 0, but got shape ",
                 toString(getShape(layer)));
  }
  return success();
}

/// k and v, which may be null.
static LogicalResult checkRows(InferError error, PagedCacheType cache, Value k,
                               Value v) {
  // kv_store_c2
  if (cache.getLatent() != !v) {
    return error(cache.getLatent()
                     ? "expected no v, since the cache is latent"
                     : "expected a v, since the cache is not latent");
  }
  DimAttr tokens = getShape(k).empty() ? DimAttr() : getShape(k)[0];
  for (Value rows : {k, v}) {
    if (!rows) {
      continue;
    }
    ArrayRef<DimAttr> shape = getShape(rows);
    // kv_store_c1
    if (shape.size() != 3 || shape[0] != tokens ||
        !shape[1].isStatic(cache.getHeads()) ||
        !shape[2].isStatic(cache.getHeadDim())) {
      return error("expected k and v of shape [tokens, ", cache.getHeads(),
                   ", ", cache.getHeadDim(), "], but got ", toString(shape));
    }
  }
  return success();
}

/// Whether q is [tokens, a multiple of the heads, head_dim].
static bool areQueries(ArrayRef<DimAttr> q, PagedCacheType cache) {
  std::optional<int64_t> heads;
  if (q.size() == 3 && q[2].isStatic(cache.getHeadDim())) {
    heads = q[1].getStaticValue();
  }
  return heads && *heads > 0 && *heads % cache.getHeads() == 0;
}

static std::string expectedQueries(PagedCacheType cache) {
  return "[tokens, a multiple of " + std::to_string(cache.getHeads()) + ", " +
         std::to_string(cache.getHeadDim()) + "]";
}

LogicalResult KVStoreOp::verify() {
  InferError error(getLoc(), getOperationName());
  auto cache = cast<PagedCacheType>(getCache().getType());
  if (failed(
          checkBatch(error, getOperands(), cache, getOffsets(), getLayer()))) {
    return failure();
  }
  return checkRows(error, cache, getK(), getV());
}

LogicalResult RopeStoreOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto cache = cast<PagedCacheType>(adaptor.getCache().getType());
  if (failed(checkBatch(error, adaptor.getOperands(), cache,
                        adaptor.getOffsets(), adaptor.getLayer())) ||
      failed(checkRows(error, cache, adaptor.getK(), adaptor.getV()))) {
    return failure();
  }
  ArrayRef<DimAttr> q = getShape(adaptor.getQ()),
                    freqs = getShape(adaptor.getFreqs());
  // rope_store_c1
  if (!areQueries(q, cache) || q[0] != getShape(adaptor.getK())[0]) {
    return error("expected q of shape ", expectedQueries(cache),
                 " with the tokens of k, but got ", toString(q));
  }
  // rope_c2
  if (freqs.size() != 2) {
    return error("expected freqs of shape [rows, width], but got ",
                 toString(freqs));
  }
  std::optional<int64_t> width = freqs[1].getStaticValue();
  // rope_c3
  if (!width || *width % 2 != 0 || *width > cache.getHeadDim() ||
      freqs[0].isStatic(0)) {
    return error("expected freqs with rows, and a static width that is even "
                 "and at most head_dim (",
                 cache.getHeadDim(), "), but got ", toString(freqs));
  }
  auto type = cast<kvern::TensorType>(adaptor.getQ().getType());
  auto table = cast<kvern::TensorType>(adaptor.getFreqs().getType());
  // rope_c5
  if (table.getElementType() != type.getElementType() &&
      !table.getElementType().isF32()) {
    return error("expected freqs of element type f32 or that of q (",
                 type.getElementType(), "), but got ", table.getElementType());
  }
  results.push_back(type);
  return success();
}

LogicalResult QkvProjectStoreOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto cache = cast<PagedCacheType>(adaptor.getCache().getType());
  if (failed(checkBatch(error, adaptor.getOperands(), cache,
                        adaptor.getOffsets(), adaptor.getLayer()))) {
    return failure();
  }
  // qkv_project_store_c3
  if (cache.getLatent()) {
    return error("expected a cache of keys and values, but got a latent one");
  }
  int64_t heads = adaptor.getQueryHeads();
  // qkv_project_store_c4
  if (heads <= 0 || heads % cache.getHeads() != 0) {
    return error("expected query_heads to be a multiple of the heads of the "
                 "cache (",
                 cache.getHeads(), "), above 0, but got ", heads);
  }
  ArrayRef<DimAttr> hidden = getShape(adaptor.getHidden()),
                    weight = getShape(adaptor.getWeight());
  int64_t rows = (heads + 2 * cache.getHeads()) * cache.getHeadDim();
  // qkv_project_store_c1
  if (hidden.size() != 2 || weight.size() != 2 || !weight[0].isStatic(rows) ||
      weight[1] != hidden[1]) {
    return error("expected hidden of shape [tokens, columns] and a weight of "
                 "shape [",
                 rows, ", columns], but got ", toString(hidden), " and ",
                 toString(weight));
  }
  if (Value bias = adaptor.getBias()) {
    // qkv_project_store_c2
    if (getShape(bias) != ArrayRef(weight[0])) {
      return error("expected a bias of shape [", rows, "], but got ",
                   toString(getShape(bias)));
    }
  }
  auto type = cast<kvern::TensorType>(adaptor.getHidden().getType());
  auto dim = [&](int64_t size) {
    return DimAttr::getStatic(type.getContext(), size);
  };
  return addResult(error, type,
                   {hidden[0], dim(heads), dim(cache.getHeadDim())}, results);
}

LogicalResult PagedAttentionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto cache = cast<PagedCacheType>(adaptor.getCache().getType());
  if (failed(checkBatch(error, adaptor.getOperands(), cache,
                        adaptor.getOffsets(), adaptor.getLayer())) ||
      failed(checkMask(error, adaptor.getMaskVariant(), adaptor.getWindow(),
                       adaptor.getSoftcap()))) {
    return failure();
  }
  int64_t valueDim = adaptor.getValueDim();
  // paged_attention_c2
  if (cache.getLatent() ? valueDim <= 0 || valueDim > cache.getHeadDim()
                        : valueDim != 0) {
    return error(cache.getLatent()
                     ? "expected value_dim from 1 to the head_dim of the "
                       "latent cache, but got "
                     : "expected value_dim 0, since the cache has values, but "
                       "got ",
                 valueDim);
  }
  auto type = cast<kvern::TensorType>(adaptor.getQ().getType());
  // paged_attention_c1
  if (!areQueries(type.getShape(), cache)) {
    return error("expected q of shape ", expectedQueries(cache), ", but got ",
                 toString(type.getShape()));
  }
  // paged_attention_c3
  if (type.getElementType().isF64()) {
    return error("expected q of element type f32, bf16 or f16, as caches have "
                 "them, but got f64");
  }
  ArrayRef<DimAttr> q = type.getShape();
  if (failed(checkSinks(error, adaptor.getSinks(), q[1]))) {
    return failure();
  }
  DimAttr size =
      valueDim ? DimAttr::getStatic(type.getContext(), valueDim) : q[2];
  return addResult(error, type, {q[0], q[1], size}, results);
}

LogicalResult LatentAttentionOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  InferError error(location, getOperationName());
  auto cache = cast<PagedCacheType>(adaptor.getCache().getType());
  if (failed(checkBatch(error, adaptor.getOperands(), cache,
                        adaptor.getOffsets(), adaptor.getLayer())) ||
      failed(checkMask(error, adaptor.getMaskVariant(), adaptor.getWindow(),
                       APFloat(0.0)))) {
    return failure();
  }
  // latent_attention_c1
  if (!cache.getLatent()) {
    return error("expected a latent cache, but got one of keys and values");
  }
  auto type = cast<kvern::TensorType>(adaptor.getQ().getType());
  ArrayRef<DimAttr> q = type.getShape(), weight = getShape(adaptor.getKvB());
  std::optional<int64_t> heads, size, latent;
  if (q.size() == 3) {
    heads = q[1].getStaticValue();
    size = q[2].getStaticValue();
  }
  if (weight.size() == 2) {
    latent = weight[1].getStaticValue();
  }
  int64_t rope = cache.getHeadDim() - latent.value_or(0);
  // latent_attention_c2
  if (!heads || *heads <= 0 || !size || rope < 0 || *size <= rope) {
    return error("expected q of shape [tokens, heads, nope + rope], rope being "
                 "the head_dim of the cache (",
                 cache.getHeadDim(), ") without the columns of kv_b, but got ",
                 toString(q), " and kv_b of shape ", toString(weight));
  }
  int64_t valueDim = adaptor.getValueDim();
  int64_t rows = *heads * (*size - rope + valueDim);
  // latent_attention_c3
  if (!latent || *latent <= 0 || valueDim <= 0 || !weight[0].isStatic(rows)) {
    return error("expected kv_b of shape [", rows,
                 ", latent], heads * (nope + value_dim) rows, but got ",
                 toString(weight));
  }
  return addResult(
      error, type,
      {q[0], q[1], DimAttr::getStatic(type.getContext(), valueDim)}, results);
}

LogicalResult KVCopyPagesOp::verify() {
  auto source = cast<BufferType>(getSource().getType());
  auto destination = cast<BufferType>(getDestination().getType());
  // kv_copy_pages_c1
  if (source.getElementType() != destination.getElementType() ||
      source.getShape().empty() || destination.getShape().empty() ||
      source.getShape().drop_front() != destination.getShape().drop_front()) {
    return emitOpError("expected buffers of one element type, and equal sizes "
                       "but for the first, but got ")
           << source << " and " << destination;
  }
  ArrayRef<DimAttr> from = getShape(getSourcePages()),
                    to = getShape(getDestinationPages());
  // kv_copy_pages_c2
  if (from.size() != 1 || from != to) {
    return emitOpError("expected lists of pages of rank 1 and one size, but "
                       "got shapes ")
           << toString(from) << " and " << toString(to);
  }
  // kv_copy_pages_c3
  return checkOneDevice(InferError(getLoc(), getOperationName()),
                        source.getDevice(), getOperands());
}
