import hashlib
import json
import math
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from agonist import checkpoints as c

DTYPES = st.sampled_from(["bool", "int8", "uint8", "int32", "uint32", "int64", "float16", "float32", "float64"])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
TREES = st.dictionaries(st.text("abc/.é", min_size=1, max_size=6), ARRAYS, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def policy(seed=0):
    rng = np.random.default_rng(seed)
    return c.PolicyContent(
        {"algo": "ppo", "hidden": [64, 64]}, {"w": rng.normal(size=(3, 2)), "b": np.float32(seed)}, {"run": "x", "step": 5}
    )


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_tensors_come_back_to_the_bit_in_any_order(tree):
    data = c.encode_tensors(tree)
    assert data == c.encode_tensors(dict(reversed(tree.items())))
    back = c.decode_tensors(data)
    assert list(back) == sorted(tree)
    for name, array in tree.items():
        assert (back[name].dtype, back[name].shape, back[name].tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_tensors_of_every_layout():
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    tree = {
        "transposed": base.T,
        "strided": base[::2, 1::2],
        "big_endian": base.astype(">f4"),
        "bf16": base.astype(ml_dtypes.bfloat16),
        "scalar": np.asarray(3, np.uint32),
        "numpy_scalar": np.float64(2.5),
        "complex": np.array([1 + 2j], np.complex64),
    }
    back = c.decode_tensors(c.encode_tensors(tree))
    for name, array in tree.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == np.asarray(array).dtype.newbyteorder("=")
    back["scalar"][...] = 4  # arrays of their own
    assert back["scalar"].shape == ()


@pytest.mark.parametrize("array", [np.array(["x"]), np.array([object()]), np.array([1j]), np.array(["2026"], "datetime64[s]")])
def test_tensors_that_safetensors_cannot_hold_are_named(array):
    with pytest.raises(ValueError, match=r"bool, integer or floating.*odd"):
        c.encode_tensors({"fine": np.ones(2), "odd": array})
    with pytest.raises(ValueError, match="__metadata__"):
        c.encode_tensors({"__metadata__": np.ones(2)})


def test_a_pickle_is_never_loaded():
    for data in (
        pickle.dumps({"w": 1}),
        b"",
        b"\x00" * 20,
        c.encode_tensors({"w": np.ones(9)})[:-1],
        c.encode_tensors({"w": np.ones(9)}) + b"x",
    ):
        with pytest.raises(c.Damaged, match="mine is damaged"):
            c.decode_tensors(data, "mine")


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_canonical_json_is_one_spelling(value):
    data = c.canonical_json(value)
    assert json.loads(data) == value
    assert data == c.canonical_json(dict(reversed(value.items())))
    assert c.canonical_json(json.loads(data)) == data


def test_canonical_json_by_hand():
    value = {"b": [1, 2.0, 1e-7, True, None], "a": {"é": "\n", "": np.float32(0.5)}, "c": np.arange(2), "d": (np.bool_(True),)}
    assert c.canonical_json(value) == '{"a":{"":0.5,"é":"\\n"},"b":[1,2.0,1e-07,true,null],"c":[0,1],"d":[true]}'.encode()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"lr": {"actor": math.nan}}, "lr.actor is nan"),
        ({"a": [0, math.inf]}, r"a\[1\] is inf"),
        ({"f": print}, "f is a builtin_function_or_method"),
        ({"m": {1: 2}}, "m has the key 1"),
    ],
)
def test_json_says_where_it_cannot_hold_a_value(value, words):
    with pytest.raises(ValueError, match=words):
        c.canonical_json(value)


def test_pretty_json_writes_nan_as_null():
    assert json.loads(c.pretty_json({"loss": math.nan, "x": [math.inf, 1]})) == {"loss": None, "x": [None, 1]}


def test_a_policys_name_is_its_content_only(tmp_path):
    one = policy()
    elsewhere = c.PolicyContent(dict(reversed(one.spec.items())), dict(reversed(one.tensors.items())), {"run": "another", "step": 9})
    assert one.name == elsewhere.name == c.policy_name(one.spec, one.tensors)
    by_hand = hashlib.sha256(b'{"algo":"ppo","format":1,"hidden":[64,64]}\n' + c.encode_tensors(one.tensors)).hexdigest()[:20]
    assert one.name == by_hand
    assert policy(1).name != one.name
    assert c.policy_name({**one.spec, "hidden": [64]}, one.tensors) != one.name
    with pytest.raises(ValueError, match="may not have a key 'format'"):
        c.policy_name({"format": 3}, {})


def test_a_policy_is_written_once_and_read_back(tmp_path):
    path = c.write_policy(tmp_path, policy())
    assert path == c.write_policy(tmp_path, policy()) == tmp_path / policy().name
    assert sorted(file.name for file in tmp_path.rglob("*")) == sorted([policy().name, *c.FILES])
    back = c.read_policy(path)
    assert (back.spec, back.provenance, back.name) == (policy().spec, policy().provenance, policy().name)
    np.testing.assert_array_equal(back.tensors["w"], policy().tensors["w"])
    assert c.read_policy({name: (path / name).read_bytes() for name in c.FILES[:2]}, path.name).provenance == {}


def test_a_renamed_policy_is_read_as_it_is(tmp_path):
    path = c.write_policy(tmp_path, policy()).rename(tmp_path / "champion")
    assert c.read_policy(path).name == policy().name


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("tensors.safetensors", lambda d: d[:-1], "not what its name says"),
        ("tensors.safetensors", lambda d: d[:-1] + bytes([d[-1] ^ 1]), "not what its name says"),
        ("spec.json", lambda d: d.replace(b"64", b"65"), "not what its name says"),
        ("spec.json", lambda d: d[:10], "spec.json is damaged"),
        ("spec.json", lambda d: b"[]", "holds a list"),
        ("spec.json", lambda d: b"{}", "does not say its format"),
        ("provenance.json", lambda d: b"{", "provenance.json is damaged"),
        ("tensors.safetensors", None, "has no tensors.safetensors"),
        ("spec.json", None, "has no spec.json"),
    ],
)
def test_a_policy_that_was_harmed_is_refused_with_a_sentence(tmp_path, file, change, words):
    path = c.write_policy(tmp_path, policy())
    if change:
        (path / file).write_bytes(change((path / file).read_bytes()))
    else:
        (path / file).unlink()
    with pytest.raises(c.Damaged, match=words) as caught:
        c.read_policy(path)
    assert str(path) in str(caught.value)


def test_a_truncated_policy_under_another_name_is_refused_too(tmp_path):
    path = c.write_policy(tmp_path, policy()).rename(tmp_path / "champion")
    tensors = path / "tensors.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-4])
    with pytest.raises(c.Damaged, match=r"tensors.safetensors is damaged"):
        c.read_policy(path)


def test_a_newer_policy_names_both_versions(tmp_path):
    path = c.write_policy(tmp_path, policy())
    (path / "spec.json").write_bytes(b'{"format":9}')
    with pytest.raises(c.Newer, match=r"format 9.*up to 1"):
        c.read_policy(path)


def test_what_is_no_policy_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "none"):
        with pytest.raises(ValueError, match="is not a folder"):
            c.read_policy(path)
