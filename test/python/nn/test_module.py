# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names, values and structure of Modules. Nothing here is compiled."""

from __future__ import annotations

import abc
import copy

import ml_dtypes
import numpy as np
import pytest
from kvern import nn
from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.graph import DeviceRef, Weight

CPU = DeviceRef.CPU()


def weight(*shape: int, dtype: DType = DType.float32, name: str = "w") -> Weight:
    return Weight(name, dtype, shape, CPU)


class Leaf(nn.Module):
    def __init__(self, *shape: int, dtype: DType = DType.float32) -> None:
        super().__init__()
        self.weight = weight(*(shape or (2, 3)), dtype=dtype)

    def __call__(self, x):
        return x


class Tree(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LayerList([Leaf(), Leaf()])
        self.head = Leaf(4)
        self.scale = weight(1)
        self.size = 5

    def __call__(self, x):
        return x


class Stacked(nn.Module):
    """Its children appear at the level of its parent."""

    _omit_module_attr_name = True

    def __init__(self) -> None:
        super().__init__()
        self.q_proj = Leaf()
        self.k_proj = Leaf()
        self.offset = weight(1)

    def __call__(self, x):
        return x


def arrays(module: nn.Module, start: int = 0) -> dict[str, np.ndarray]:
    state = {}
    for i, (name, w) in enumerate(module.raw_state_dict().items()):
        shape = [int(dim) for dim in w.shape]
        state[name] = np.full(shape, start + i, w.dtype.to_ml_dtypes())
    return state


# Structure


def test_registration():
    tree = Tree()
    assert list(tree.layer_weights) == ["scale"]
    assert list(tree.sublayers) == ["layers", "head"]
    assert list(tree.layers.sublayers) == ["0", "1"]


def test_names_are_attribute_paths():
    assert list(Tree().raw_state_dict()) == [
        "scale",
        "head.weight",
        "layers.0.weight",
        "layers.1.weight",
    ]


def test_assigning_something_else_forgets_a_weight_or_child():
    tree = Tree()
    tree.scale = None
    tree.head = weight(3)
    assert list(tree.layer_weights) == ["head"]
    assert list(tree.sublayers) == ["layers"]
    del tree.head
    assert tree.layer_weights == {}
    assert not hasattr(tree, "head")


def test_assigning_a_new_weight_drops_the_old_value():
    leaf = Leaf()
    leaf.load_state_dict({"weight": np.ones((2, 3), np.float32)})
    leaf.weight = weight(2, 3)
    with pytest.raises(ValueError, match="weight"):
        leaf.state_dict(auto_initialize=False)


def test_init_of_the_base_comes_first():
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.weight = weight(1)

    with pytest.raises(AttributeError, match=r"Forgetful.*super\(\).__init__\(\).*'weight'"):
        Forgetful()


def test_abstract_methods_of_users_hold():
    class Abstract(nn.Module):
        @abc.abstractmethod
        def forward(self): ...

    with pytest.raises(TypeError, match="abstract"):
        Abstract()  # pyright: ignore[reportAbstractUsage]


def test_a_module_without_call_says_so():
    class Silent(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="Silent"):
        Silent()(1)


def test_lists_of_modules_are_not_looked_into():
    module = Tree()
    module.extra = [Leaf()]
    assert "extra.0.weight" not in module.raw_state_dict()


def test_omitted_attribute_names():
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv_proj = Stacked()
            self.o_proj = Leaf()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.self_attn = Attention()

    assert list(Model().raw_state_dict()) == [
        "self_attn.offset",
        "self_attn.o_proj.weight",
        "self_attn.q_proj.weight",
        "self_attn.k_proj.weight",
    ]
    prefixes = [prefix for prefix, _ in Model().named_modules()]
    assert prefixes == [
        "",
        "self_attn.",
        "self_attn.",
        "self_attn.o_proj.",
        "self_attn.q_proj.",
        "self_attn.k_proj.",
    ]


def test_omission_by_object():
    tree = Tree()
    tree.head._omit_module_attr_name = True
    assert "weight" in tree.raw_state_dict()


def test_names_that_collide_are_an_error():
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stacked = Stacked()
            self.q_proj = Leaf()

    for method in ("raw_state_dict", "state_dict"):
        with pytest.raises(ValueError, match=r"'q_proj.weight'"):
            getattr(Model(), method)()


def test_named_modules_is_breadth_first_and_visits_once():
    tree = Tree()
    tree.again = tree.layers[0]
    names = {id(module): prefix for prefix, module in tree.named_modules()}
    visited = list(tree.named_modules())
    assert [prefix for prefix, _ in visited] == ["", "layers.", "head.", "again.", "layers.1."]
    assert len(names) == len(visited)


def test_shared_modules_and_weights_are_listed_once():
    tree = Tree()
    tree.again = tree.layers[0]
    tree.head.tied = tree.scale
    assert list(tree.raw_state_dict()) == [
        "scale",
        "head.weight",
        "again.weight",
        "layers.1.weight",
    ]


def test_set_shared_weight():
    tree = Tree()
    tree.head.set_shared_weight("tied", tree.layers[0].weight)
    assert tree.head.tied is tree.layers[0].weight
    assert "tied" not in tree.head.layer_weights
    assert "head.tied" not in tree.raw_state_dict()
    tree.load_state_dict(arrays(tree))
    assert tree.head.tied.name == "layers.0.weight"
    tree.head.tied = weight(1)
    assert "head.tied" in tree.raw_state_dict()


def test_replace_module():
    tree, leaf = Tree(), Leaf(7)
    tree.replace_module("head", leaf)
    assert tree.head is leaf
    tree.layers.replace_module("1", leaf)
    assert tree.layers[1] is leaf
    with pytest.raises(KeyError, match="haed"):
        tree.replace_module("haed", leaf)
    with pytest.raises(KeyError, match="scale"):
        tree.replace_module("scale", leaf)
    with pytest.raises(KeyError, match="2"):
        tree.layers.replace_module("2", leaf)
    with pytest.raises(TypeError, match="Module"):
        tree.replace_module("head", 3)  # pyright: ignore[reportArgumentType]


def test_raw_state_dict_can_be_edited():
    leaf = Leaf()
    raw = leaf.raw_state_dict()["weight"]
    assert raw is leaf.weight
    raw.dtype = DType.bfloat16
    raw.shape = [5]
    leaf.load_state_dict({"weight": np.zeros(5, ml_dtypes.bfloat16)})


def test_deep_copies_are_independent():
    tree = Tree()
    tree.load_state_dict(arrays(tree))
    other = copy.deepcopy(tree)
    assert other.head is not tree.head
    other.load_state_dict(arrays(other, start=10))
    assert tree.state_dict()["scale"][0] == 0


# Values


def test_state_dict_gives_zeros_and_names():
    tree = Tree()
    tree.layers.append(Leaf(3, dtype=DType.bfloat16))
    state = tree.state_dict()
    assert tree.layers[1].weight.name == "layers.1.weight"
    assert all(isinstance(value, Buffer) for value in state.values())
    assert state["layers.2.weight"].dtype is DType.bfloat16
    np.testing.assert_array_equal(state["head.weight"].to_numpy(), np.zeros(4))
    assert tree.state_dict()["scale"] is state["scale"]


def test_state_dict_without_initialization_lists_the_empty():
    tree = Tree()
    tree.load_state_dict({"scale": np.zeros(1, np.float32)}, strict=False)
    with pytest.raises(ValueError) as error:
        tree.state_dict(auto_initialize=False)
    for name in ("3", "head.weight", "layers.0.weight", "layers.1.weight"):
        assert name in str(error.value)
    assert "scale" not in str(error.value)


def test_load_keeps_the_values():
    tree = Tree()
    given = arrays(tree)
    given["scale"] = Buffer.from_numpy(given["scale"])
    tree.load_state_dict(given)
    state = tree.state_dict(auto_initialize=False)
    assert list(state) == list(tree.raw_state_dict())
    assert all(state[name] is given[name] for name in given)


def test_load_of_a_part_and_state_of_the_whole():
    tree = Tree()
    tree.layers[1].load_state_dict({"weight": np.ones((2, 3), np.float32)})
    assert tree.layers[1].weight.name == "weight"
    state = tree.state_dict()
    assert state["layers.1.weight"][0, 0] == 1
    assert tree.layers[1].weight.name == "layers.1.weight"


def test_strict_lists_missing_and_unexpected_at_once():
    tree = Tree()
    state = arrays(tree)
    del state["scale"], state["layers.1.weight"]
    state |= {"foo": np.zeros(1), "layers.2.weight": np.zeros(1)}
    with pytest.raises(ValueError) as error:
        tree.load_state_dict(state)
    text = str(error.value)
    assert "missing (2): scale, layers.1.weight" in text
    assert "unexpected (2): foo, layers.2.weight" in text
    assert tree.scale.name == "w"


def test_not_strict_tolerates_both():
    tree = Tree()
    tree.load_state_dict({"scale": np.ones(1, np.float32), "foo": np.zeros(1)}, strict=False)
    assert tree.state_dict()["scale"][0] == 1
    assert "foo" not in tree.state_dict()


def test_misfits_are_listed_at_once_and_change_nothing():
    tree = Tree()
    state = arrays(tree)
    state["scale"] = np.zeros(1, np.float64)
    state["head.weight"] = np.zeros((4, 1), np.float32)
    state["layers.0.weight"] = "text"  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError) as error:
        tree.load_state_dict(state)
    text = str(error.value)
    assert "'scale': expected float32 [1], but got float64 [1]" in text
    assert "'head.weight': expected float32 [4], but got float32 [4, 1]" in text
    assert "'layers.0.weight': expected an array, but got str" in text
    with pytest.raises(ValueError, match="4 have none"):
        tree.state_dict(auto_initialize=False)


def test_torch_tensors_load():
    torch = pytest.importorskip("torch")
    leaf = Leaf(3, dtype=DType.bfloat16)
    value = torch.ones(3, dtype=torch.bfloat16)
    leaf.load_state_dict({"weight": value})
    assert leaf.state_dict()["weight"] is value


def test_alignment():
    data = np.zeros(29, np.uint8)[1:].view(np.float32)[:6].reshape(2, 3)
    if data.ctypes.data % 4 == 0:
        data = np.zeros(30, np.uint8)[2:26].view(np.float32).reshape(2, 3)
    leaf = Leaf()
    with pytest.raises(ValueError, match=r"'weight': expected data aligned to 4 bytes"):
        leaf.load_state_dict({"weight": data})
    leaf.load_state_dict({"weight": data}, weight_alignment=1)
    assert leaf.weight.align == 1
    with pytest.raises(ValueError, match="power of two"):
        leaf.load_state_dict({"weight": data}, weight_alignment=3)


def test_wrong_encoding():
    class Encoded:
        dtype = DType.float32
        shape = (2, 3)
        quantization_encoding = "Q4_0"
        data = np.zeros((2, 3), np.float32)

    with pytest.raises(ValueError, match="expected the encoding None, but got Q4_0"):
        Leaf().load_state_dict({"weight": Encoded()})
