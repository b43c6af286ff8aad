//===- KvernTypes.td - Tensors and buffers ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KVERN_TYPES_TD
#define KVERN_TYPES_TD

include "dialect/KvernAttrs.td"

defvar Kvern_TypeConstraints = [{
    Constraints:

    - type_c1: the element type is one of those
    - type_c2: static sizes are 0 or more
    - type_c3: static sizes other than 0 multiply to less than 2^60
}];

class Kvern_ShapedType<string name, string typeMnemonic>
    : TypeDef<Kvern_Dialect, name> {
  let mnemonic = typeMnemonic;
  let parameters = (ins
    OptionalArrayRefParameter<"DimAttr">:$shape,
    "::mlir::Type":$elementType,
    "DeviceAttr":$device
  );
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<DimAttr>":$shape,
                                        "::mlir::Type":$elementType,
                                        "DeviceAttr":$device), [{
      return $_get(elementType.getContext(), shape, elementType, device);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Kvern_TensorType : Kvern_ShapedType<"Tensor", "tensor"> {
  let summary = "An immutable tensor";
  let description = [{
    A value of known rank: its sizes, element type and device. Element types
    are `i1` (boolean), `i8` to `i64`, `ui8` to `ui64`, `f16`, `bf16`, `f32`,
    `f64`, `f4E2M1FN`, `f8E8M0FNU`, `f8E4M3FN`, `f8E4M3FNUZ`, `f8E5M2` and
    `f8E5M2FNUZ`.

    ```mlir
    !kvern.tensor<[batch, 64, batch * 5 + 1], f32, cpu:0>
    ```

  }] # Kvern_TypeConstraints;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// The same device and element type with other sizes.
    TensorType withShape(::llvm::ArrayRef<DimAttr> shape) const;
    /// The same sizes and device with another element type.
    TensorType withElementType(::mlir::Type elementType) const;
  }];
}

def Kvern_BufferType : Kvern_ShapedType<"Buffer", "buffer"> {
  let summary = "Memory that is changed in place";
  let description = [{
    Memory owned by the caller that ops read and write; the order of those ops
    is kept by their memory effects. Element types are those of a tensor.

    ```mlir
    !kvern.buffer<[pages, 16], bf16, cpu:0>
    ```

  }] # Kvern_TypeConstraints;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// The tensor that a load of the whole buffer gives.
    TensorType asTensor() const;
  }];
}

def Kvern_PagedCacheType : TypeDef<Kvern_Dialect, "PagedCache"> {
  let mnemonic = "paged_cache";
  let summary = "Keys and values of sequences, in pages";
  let description = [{
    The cache of a batch of sequences in all layers of a model: the memory that
    holds the pages, and which pages belong to which sequence. `sequences` is
    their number. A page holds `page_size` tokens of every layer. A token has,
    in each layer, a key and a value of `heads` heads of `head_dim` elements, or,
    with `latent`, keys only. With `scales`, that many adjacent elements of a
    head share one `f32` factor.

    Element types are `f32`, `bf16`, `f16` and, with scales, `i8` and `f8E4M3FN`.

    ```mlir
    !kvern.paged_cache<[batch], layers = 30, page_size = 128, heads = 3, head_dim = 64, f32, cpu:0>
    !kvern.paged_cache<[batch], layers = 30, page_size = 128, heads = 1, head_dim = 576, latent, bf16, cpu:0>
    !kvern.paged_cache<[batch], layers = 30, page_size = 128, heads = 3, head_dim = 64, i8, scales = 32, cpu:0>
    ```

    Constraints:

    - paged_cache_type_c1: `layers`, `page_size`, `heads` and `head_dim` are above 0
    - paged_cache_type_c2: what is asked for is one of the combinations in docs/kv-cache.md
  }];
  let parameters = (ins
    "DimAttr":$sequences,
    "int64_t":$layers,
    "int64_t":$pageSize,
    "int64_t":$heads,
    "int64_t":$headDim,
    "bool":$latent,
    "::mlir::Type":$elementType,
    "int64_t":$granularity,
    "DeviceAttr":$device
  );
  let builders = [
    TypeBuilderWithInferredContext<(ins "DimAttr":$sequences,
        "int64_t":$layers, "int64_t":$pageSize, "int64_t":$heads,
        "int64_t":$headDim, "bool":$latent, "::mlir::Type":$elementType,
        "int64_t":$granularity, "DeviceAttr":$device), [{
      return $_get(elementType.getContext(), sequences, layers, pageSize, heads,
                   headDim, latent, elementType, granularity, device);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether elements are integers, or 8-bit floats, times factors.
    bool isQuantized() const { return getGranularity() != 0; }
  }];
}

// Element types by what they can do.
def Kvern_Bool : TypeConstraint<CPred<"$_self.isInteger(1)">, "bool">;

class Kvern_TensorOf<string cond, string what>
    : Type<And<[CPred<"::llvm::isa<::kvern::TensorType>($_self)">,
                SubstLeaves<"$_elt",
                  "::llvm::cast<::kvern::TensorType>($_self).getElementType()",
                  CPred<cond>>]>,
           "tensor of " # what, "::kvern::TensorType">;

def Kvern_AnyTensor : Type<CPred<"::llvm::isa<::kvern::TensorType>($_self)">,
                           "tensor", "::kvern::TensorType">;
def Kvern_AnyBuffer : Type<CPred<"::llvm::isa<::kvern::BufferType>($_self)">,
                           "buffer", "::kvern::BufferType">;
def Kvern_AnyPagedCache
    : Type<CPred<"::llvm::isa<::kvern::PagedCacheType>($_self)">,
           "paged cache", "::kvern::PagedCacheType">;
def Kvern_FloatTensor
    : Kvern_TensorOf<"::llvm::isa<::mlir::FloatType>($_elt)",
                     "floating-point numbers">;
def Kvern_BoolTensor : Kvern_TensorOf<"$_elt.isInteger(1)", "bool">;
def Kvern_NumberTensor
    : Kvern_TensorOf<"!$_elt.isInteger(1)", "numbers">;
def Kvern_IndexTensor
    : Kvern_TensorOf<"$_elt.isSignlessInteger(32) || $_elt.isSignlessInteger(64) "
                     "|| $_elt.isUnsignedInteger(32) || $_elt.isUnsignedInteger(64)",
                     "32- or 64-bit integers">;

#endif // KVERN_TYPES_TD
