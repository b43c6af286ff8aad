// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Emits products with packed quantized weights as loops over vectors.
#ifndef KVERN_LIB_CODEGEN_QUANTIZEDPRODUCT_H
#define KVERN_LIB_CODEGEN_QUANTIZEDPRODUCT_H

#include "dialect/ops/Quant.h"
#include "lib/Codegen/LoopBuilder.h"

namespace kvern {

/// Instructions that add products of bytes to 32-bit integers.
enum class IntegerDot {
  /// None: bytes are widened.
  None,
  /// pmaddubsw, pmaddwd.
  Maddubs,
  /// vpdpbusd.
  Vnni,
  /// sdot of NEON.
  Neon,
};

/// The instructions by name (`none`, `maddubs`, `vnni`, `neon`); null for
/// another one.
std::optional<IntegerDot> parseIntegerDot(llvm::StringRef name);

/// Emits the order of `kvern.pack_quantized` for blocks on buffers:
///
///   scales, minima   [row][2 bytes]
///   elements         [word][row][4 bytes]
///
/// of each group of each panel, with the sign bit of signed elements flipped.
void emitQuantizedPack(LoopPackQuantizedOp op);

/// Rows of activations as a product reads them, in memory of the kernel.
///
/// As numbers: f32. As integers: x = s * i with one scale s for each block of
/// k, where i has one digit, or three of base 256: each from -128 to 127, the
/// highest from -127.
struct PreparedRows {
  /// [digit, highest first][row][k], of i8, or of f32 with one "digit". Rows
  /// are padded, so that they do not fall on the same lines of a cache.
  mlir::Value elements;
  /// [digit][row][group], i32 or f32: where the sum of a group starts: what
  /// the zero of the weights adds to it.
  mlir::Value starts;
  /// [row][group], f32: the sum of the elements; null without minima.
  mlir::Value sums;
  /// [row][block], f32: s; null for numbers.
  mlir::Value scales;
  /// [1][row][k], f32: what `emitNumberTile` reads; `elements` if these are
  /// numbers.
  mlir::Value numbers;
};

/// Emits the parts of one product. Everything it makes is at the insertion
/// point.
class QuantizedProductBuilder : public LoopBuilder {
public:
  QuantizedProductBuilder(mlir::Location location, mlir::OpBuilder &builder,
                          const BlockEncoding &encoding, bool exact,
                          int64_t vectorBits, IntegerDot dot);

  const BlockEncoding encoding;
  const bool exact;
  /// Elements of a vector of f32.
  const int64_t lanes;
  const IntegerDot dot;
  /// Activations are integers of that many digits; 0 when they are numbers.
  const int64_t digits;
  /// f32 and i32 of `lanes`.
  const mlir::VectorType floats, integers;

  /// [rows, k], [panel, group, byte], [rows, columns].
  mlir::Value lhs, panels, out;
  PreparedRows prepared;
  /// The row of out before which tiles write; null if that is all of them.
  mlir::Value rowEnd;
  int64_t depth = 0, columns = 0;

  int64_t groups() const { return depth / encoding.group; }
  /// Elements of k with one scale: the largest multiple of a group up to 128
  /// that divides k.
  int64_t blockElements() const;
  int64_t panelVectors() const { return kQuantizedPanel / lanes; }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  mlir::Value splat(double value);
  mlir::Value splatInteger(int64_t value);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);

  /// Iterations that are apart from each other, from 0 on.
  void parallelLoop(mlir::OpFoldResult to, int64_t step,
                    llvm::function_ref<void(mlir::Value)> body);

  //===--------------------------------------------------------------------===//
  // Parts of the product
  //===--------------------------------------------------------------------===//

  /// Allocates `prepared` for a number of rows with `allocate`; for one or both
  /// of `emitTile` and `emitNumberTile`.
  void allocateRows(int64_t rows, bool forTile, bool forNumberTile,
                    llvm::function_ref<mlir::Value(mlir::MemRefType)> allocate);
  /// Fills `prepared` with `count` rows of lhs from `first` on, as `emitTile`
  /// reads them, or else as `emitNumberTile` does.
  void prepareRows(mlir::Value first, mlir::Value count, bool forTile);

  /// Writes `rowCount` rows and the columns of `panelCount` panels to out:
  /// those that were prepared from `preparedRow` on, to `outRow` on.
  void emitTile(int64_t rowCount, int64_t panelCount, mlir::Value preparedRow,
                mlir::Value outRow, mlir::Value panel);

  /// Writes a panel's weights to `numbers`, [k][column] of f32.
  void dequantizePanel(mlir::Value panel, mlir::Value numbers);
  /// As `emitTile`, with the numbers of one panel.
  void emitNumberTile(int64_t rowCount, mlir::Value numbers,
                      mlir::Value preparedRow, mlir::Value outRow,
                      mlir::Value panel);

private:
  /// Sums of the products of a group of one vector of columns with each row.
  using RowSums = llvm::SmallVector<mlir::Value>;
  void addNumbers(RowSums &sums, mlir::Value panel, mlir::Value group,
                  int64_t vector, mlir::Value row);
  /// The sums of all digits: those of row r at [r * digits].
  void addIntegers(RowSums &sums, mlir::Value panel, mlir::Value group,
                   int64_t vector, mlir::Value row);
  /// The sum of a row's digits, in f32.
  mlir::Value combineDigits(llvm::ArrayRef<mlir::Value> sums);
  void addGroup(llvm::MutableArrayRef<mlir::Value> sums,
                llvm::MutableArrayRef<mlir::Value> minimumSums,
                int64_t rowCount, int64_t panelCount, mlir::Value row,
                mlir::Value panel, mlir::Value group);
  /// A number for each row, in all lanes.
  mlir::Value loadSplat(mlir::Value memory, mlir::ValueRange indices);
  void addProducts(mlir::Value weights, mlir::Value activations,
                   mlir::Value &sum, mlir::Value &pairSum);
  void addPairs(mlir::Value &sum, mlir::Value &pairSum);
  /// What is subtracted from the weights as `addProducts` reads them.
  int64_t integerZero() const;

  /// Scales (0) or minima (1) of a vector of columns.
  mlir::Value loadHalves(mlir::Value panel, mlir::Value group, int64_t which,
                         int64_t vector);
  /// Word `word` of each column: 32 bits of elements.
  mlir::Value loadWords(mlir::Value panel, mlir::Value group, int64_t word,
                        int64_t vector);
  int64_t wordsOfGroup() const { return encoding.group * encoding.bits / 32; }
  /// The places in the group of the elements of a word, from the lowest bits.
  llvm::SmallVector<int64_t> placesOfWord(int64_t word) const;

  void prepareNumbers(mlir::Value first, mlir::Value row, bool forTile);
  void prepareIntegers(mlir::Value first, mlir::Value row);
  void roundGroup(mlir::Value from, mlir::Value row, mlir::Value group,
                  mlir::Value inverse, mlir::Value scale, float largest);
  mlir::Value loadActivations(mlir::Value row, mlir::Value k);
  void storeColumns(mlir::ValueRange sums, mlir::Value row, mlir::Value panel);
};

} // namespace kvern

#endif // KVERN_LIB_CODEGEN_QUANTIZEDPRODUCT_H
