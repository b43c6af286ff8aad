// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Register tiles of products with quantized weights.
#include "lib/Codegen/QuantizedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvern;

/// Panels up to so long are prefetched while the ones before are multiplied: a
/// stream of memory as short as that ends before it has become fast.
static constexpr int64_t kPrefetchedBytes = 1 << 14;

/// Adds the products of a group to `sums`, and those of its minima to
/// `minimumSums`, both [row][panel][vector].
void QuantizedProductBuilder::addGroup(MutableArrayRef<Value> sums,
                                       MutableArrayRef<Value> minimumSums,
                                       int64_t rowCount, int64_t panelCount,
                                       Value row, Value panel, Value group) {
  int64_t vectors = panelVectors();
  int64_t parts = std::max<int64_t>(digits, 1);
  for (int64_t p = 0; p < panelCount; ++p) {
    Value here = add(panel, p);
    for (int64_t v = 0; v < vectors; ++v) {
      Value scale = loadHalves(here, group, 0, v);
      Value minimum =
          encoding.hasMinimum ? loadHalves(here, group, 1, v) : Value();
      RowSums products;
      for (int64_t r = 0; r < rowCount; ++r) {
        for (int64_t part = 0; part < parts; ++part) {
          products.push_back(
              loadSplat(prepared.starts, {index(part), add(row, r), group}));
        }
      }
      digits ? addIntegers(products, here, group, v, row)
             : addNumbers(products, here, group, v, row);
      for (int64_t r = 0; r < rowCount; ++r) {
        int64_t place = (r * panelCount + p) * vectors + v;
        Value product =
            digits ? combineDigits(ArrayRef(products).slice(r * digits, digits))
                   : products[r];
        sums[place] = multiplyAdd(product, scale, sums[place]);
        if (minimum) {
          minimumSums[place] =
              multiplyAdd(loadSplat(prepared.sums, {add(row, r), group}),
                          minimum, minimumSums[place]);
        }
      }
    }
  }
}

void QuantizedProductBuilder::emitTile(int64_t rowCount, int64_t panelCount,
                                       Value preparedRow, Value outRow,
                                       Value panel) {
  int64_t vectors = panelVectors();
  int64_t count = rowCount * panelCount * vectors;
  int64_t blockGroups = digits ? blockElements() / encoding.group : 1;
  int64_t lastPanel = cast<MemRefType>(panels.getType()).getDimSize(0) - 1;
  int64_t groupBytes = kQuantizedPanel * encoding.blockBytes();
  SmallVector<Value> zeros(count, splat(0));
  // One stream of memory is slow; the next panel is a second one.
  SmallVector<Value> following;
  if (panelCount == 1 || groups() * groupBytes <= kPrefetchedBytes) {
    for (int64_t p = 0; p < panelCount; ++p) {
      following.push_back(createOrFold<arith::MinUIOp>(
          add(panel, panelCount + p), index(lastPanel)));
    }
  }
  SmallVector<Value> sums = loop(
      index(0), index(groups() / blockGroups), 1, zeros,
      [&](Value block, ValueRange carried) {
        // Of the block: sums to be scaled; of the row: sums of minima.
        SmallVector<Value> sums(carried);
        SmallVector<Value> init(digits ? ValueRange(zeros) : carried);
        if (digits && encoding.hasMinimum) {
          llvm::append_range(init, carried);
        }
        Value first = mul(block, blockGroups);
        SmallVector<Value> inner =
            loop(first, add(first, blockGroups), 1, init,
                 [&](Value group, ValueRange carried) {
                   SmallVector<Value> next2(carried);
                   MutableArrayRef<Value> all(next2);
                   addGroup(all.take_front(count), all.take_back(count),
                            rowCount, panelCount, preparedRow, panel, group);
                   for (Value next : following) {
                     for (int64_t byte = 0; byte < groupBytes; byte += 64) {
                       memref::PrefetchOp::create(
                           *this, panels, ValueRange{next, group, index(byte)},
                           /*isWrite=*/false, /*localityHint=*/2,
                           /*isDataCache=*/true);
                     }
                   }
                   return next2;
                 });
        if (!digits) {
          return inner;
        }
        for (int64_t place = 0; place < count; ++place) {
          Value scale = loadSplat(
              prepared.scales,
              {add(preparedRow, place / (panelCount * vectors)), block});
          Value sum = encoding.hasMinimum ? inner[count + place] : sums[place];
          sums[place] = multiplyAdd(inner[place], scale, sum);
        }
        return sums;
      });
  for (int64_t r = 0; r < rowCount; ++r) {
    for (int64_t p = 0; p < panelCount; ++p) {
      storeColumns(
          ArrayRef(sums).slice((r * panelCount + p) * vectors, vectors),
          add(outRow, r), add(panel, p));
    }
  }
}

void QuantizedProductBuilder::emitNumberTile(int64_t rowCount, Value numbers,
                                             Value preparedRow, Value outRow,
                                             Value panel) {
  int64_t vectors = panelVectors();
  constexpr int64_t unroll = 4;
  SmallVector<Value> zeros(rowCount * vectors, splat(0));
  SmallVector<Value> sums =
      loop(index(0), index(depth), unroll, zeros,
           [&](Value first, ValueRange carried) {
             SmallVector<Value> next(carried);
             for (int64_t u = 0; u < unroll; ++u) {
               Value k = add(first, u);
               SmallVector<Value> weights;
               for (int64_t v = 0; v < vectors; ++v) {
                 weights.push_back(vector::LoadOp::create(
                     *this, floats, numbers, ValueRange{k, index(v * lanes)}));
               }
               for (int64_t r = 0; r < rowCount; ++r) {
                 Value activation = loadSplat(
                     prepared.numbers, {index(0), add(preparedRow, r), k});
                 for (int64_t v = 0; v < vectors; ++v) {
                   Value &sum = next[r * vectors + v];
                   sum = multiplyAdd(weights[v], activation, sum);
                 }
               }
             }
             return next;
           });
  for (int64_t r = 0; r < rowCount; ++r) {
    storeColumns(ArrayRef(sums).slice(r * vectors, vectors), add(outRow, r),
                 panel);
  }
}

void QuantizedProductBuilder::storeColumns(ValueRange sums, Value row,
                                           Value panel) {
  Type element = cast<MemRefType>(out.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  Value first = mul(panel, kQuantizedPanel);
  SmallVector<Value> values;
  for (Value sum : sums) {
    values.push_back(
        element.isF32()
            ? sum
            : arith::TruncFOp::create(*this, type, sum).getResult());
  }
  auto storeAll = [&] {
    for (auto [v, value] : llvm::enumerate(values)) {
      vector::StoreOp::create(*this, value, out,
                              ValueRange{row, add(first, v * lanes)});
    }
  };
  auto storeSome = [&] {
    auto maskType = VectorType::get({lanes}, getI1Type());
    for (auto [v, value] : llvm::enumerate(values)) {
      int64_t left = columns % kQuantizedPanel - v * lanes;
      if (left > 0) {
        Value mask = vector::CreateMaskOp::create(*this, maskType, index(left));
        vector::MaskedStoreOp::create(
            *this, out, ValueRange{row, add(first, v * lanes)}, mask, value);
      }
    }
  };
  auto store = [&] {
    if (columns % kQuantizedPanel == 0) {
      storeAll();
      return;
    }
    Value isFull =
        arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, panel,
                              index(columns / kQuantizedPanel));
    when(isFull, storeAll, storeSome);
  };
  if (!rowEnd) {
    store();
    return;
  }
  when(arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, row, rowEnd),
       store);
}
