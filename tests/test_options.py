"""Words, files and values -> checked dataclasses; whatever is wrong is one sentence with the key and the value in it."""

import tomllib
from dataclasses import dataclass, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agonist.options import convert, fill, nearest, read_file, read_words, rows
from agonist.types import option


@dataclass(frozen=True)
class Part:
    count: int = option(3, "how many", unit="pieces", span=(1, 9))
    rate: float = option(0.5, "how fast", traced=True, source="somebody", span=(0, 1))
    open: bool = option(False, "whether")
    kind: str = option("red", "which", choices=("red", "blue"))
    free: str = option("", "any word")
    sizes: tuple[int, ...] = option((1, 2), "how large", span=(1, None))
    names: tuple[str, ...] = option((), "who")
    maybe: float | None = option(None, "perhaps")
    limit: int | None = option(None, "at most", span=(None, 5))
    number: float = option(0.0, "any number")
    whole: int = option(0, "any whole number")


KNOWN = {field.name: field for field in fields(Part)}


def filled(**given):
    return fill(Part, given, "the part")


def refused(**given):
    with pytest.raises(ValueError, match=r".") as error:
        filled(**given)
    return str(error.value)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("count", "7", 7),
        ("count", "4e0", 4),
        ("whole", "1e6", 1_000_000),
        ("whole", "-12", -12),
        ("whole", "12345678901234567890", 12345678901234567890),
        ("rate", "1e-3", 0.001),
        ("rate", "1", 1.0),
        ("open", "true", True),
        ("open", "Off", False),
        ("open", "YES", True),
        ("kind", "blue", "blue"),
        ("sizes", "[4, 5,6]", (4, 5, 6)),
        ("sizes", "[128]", (128,)),
        ("sizes", "[]", ()),
        ("names", "[ada,bob]", ("ada", "bob")),
        ("maybe", "none", None),
        ("maybe", "0.25", 0.25),
        ("limit", "", None),
        ("limit", "5", 5),
    ],
)
def test_words_of_every_type(key, text, value):
    got = getattr(filled(**{key: text}), key)
    assert got == value
    assert type(got) is type(value)


def test_python_values_of_every_type():
    part = filled(count=2, rate=0, open=True, kind="blue", sizes=[3, 4], maybe=None, limit=4.0)
    assert (part.count, part.rate, part.open, part.kind, part.sizes, part.maybe, part.limit) == (2, 0.0, True, "blue", (3, 4), None, 4)
    assert isinstance(part.rate, float)
    assert isinstance(part.limit, int)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("count", "many", "count needs a whole number such as 128 or 1e6, got 'many'"),
        ("count", "1.5", "count needs a whole number such as 128 or 1e6, got '1.5'"),
        ("count", True, "count needs a whole number such as 128 or 1e6, got True"),
        ("count", "inf", "count needs a whole number such as 128 or 1e6, got 'inf'"),
        ("count", "nan", "count needs a whole number such as 128 or 1e6, got 'nan'"),
        ("count", None, "count needs a whole number such as 128 or 1e6, got None"),
        ("count", 10, "count needs a value from 1 to 9, got 10"),
        ("rate", "fast", "rate needs a number such as 0.99 or 3e-4, got 'fast'"),
        ("rate", True, "rate needs a number such as 0.99 or 3e-4, got True"),
        ("rate", [1], "rate needs a number such as 0.99 or 3e-4, got [1]"),
        ("rate", -0.1, "rate needs a value from 0 to 1, got -0.1"),
        ("number", "inf", "number needs a number such as 0.99 or 3e-4, got 'inf'"),
        ("number", "nan", "number needs a number such as 0.99 or 3e-4, got 'nan'"),
        ("number", 10**400, f"number needs a number such as 0.99 or 3e-4, got {10**400}"),
        ("open", "perhaps", "open needs true or false, got 'perhaps'"),
        ("open", 1, "open needs true or false, got 1"),
        ("kind", "green", "kind is one of red, blue, got 'green'"),
        ("free", 3, "free needs a word, got 3"),
        ("sizes", "4", "sizes needs a list such as [128,128], got '4'"),
        ("sizes", 4, "sizes needs a list such as [128,128], got 4"),
        ("sizes", "[4,x]", "sizes needs a whole number such as 128 or 1e6, got 'x'"),
        ("sizes", [4, 0], "sizes needs a value of 1 or more, got [4, 0]"),
        ("limit", 6, "limit needs a value of 5 or less, got 6"),
        ("cuont", 1, "the part has no key 'cuont'; did you mean count?"),
    ],
)
def test_what_is_wrong_names_key_and_value(key, value, sentence):
    assert refused(**{key: value}) == sentence


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.one_of(st.integers(), st.text(), st.floats())),
    st.sampled_from(["1e400", "-inf", "[1,[2]]", "[", "]", "[,]", "0x10", "1_000", "١٢", "²", " 3 ", "--5", "none"]), st.binary(),
    st.dictionaries(st.text(), st.integers()),
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(sorted(KNOWN)), VALUES)
def test_any_value_is_of_the_type_or_refused_in_a_sentence(key, value):
    try:
        got = getattr(filled(**{key: value}), key)
    except ValueError:
        assert refused(**{key: value}).startswith(f"{key} ")
        return
    default = {"maybe": 0.0, "limit": 0}.get(key, KNOWN[key].default)
    assert (got is None and key in ("maybe", "limit")) or type(got) is type(default)
    assert getattr(filled(**{key: got}), key) == got


@settings(deadline=None, max_examples=100)
@given(st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False), st.lists(st.integers(1, 10**9)))
def test_what_is_written_is_read_back(whole, number, sizes):
    part = filled(whole=str(whole), number=repr(number), sizes=f"[{','.join(map(str, sizes))}]")
    assert (part.whole, part.number, part.sizes) == (whole, number, tuple(sizes))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(sorted(KNOWN)), st.data())
def test_one_wrong_letter_names_the_right_key(key, data):
    at = data.draw(st.integers(0, len(key) - 1))
    misspelt = key[:at] + data.draw(st.sampled_from("xqz")) + key[at + 1 :]
    if misspelt not in KNOWN:
        assert key in refused(**{misspelt: 1})


def test_the_nearest_or_all_there_is():
    assert nearest("leng", ["length", "width"]) == "; did you mean length?"
    assert nearest("qqqq", ["length", "width"]) == "; there is length, width"
    assert nearest("qqqq", []) == ""
    assert nearest("aab", ["aaa", "aac"]) in ("; did you mean aaa or aac?", "; did you mean aac or aaa?")


def test_words_are_keys_and_texts():
    assert read_words(["lr=3e-4", " a.b = [1,2] ", "eq==", "empty="]) == {"lr": "3e-4", "a.b": "[1,2]", "eq": "=", "empty": ""}
    for words, sentence in (
        (["lr"], "'lr' is no key=value"),
        (["=3"], "'=3' is no key=value"),
        (["a=1", " a=2"], "a is given twice: '1' and '2'"),
    ):
        with pytest.raises(ValueError, match=r".") as error:
            read_words(words)
        assert str(error.value).startswith(sentence)


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_.]{0,8}", fullmatch=True), st.text().map(str.strip), max_size=4))
def test_words_there_and_back(keys):
    assert read_words([f"{key}={text}" for key, text in keys.items()]) == keys


def test_a_file_is_keys_with_dots(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('lr = 0.1\n"env.sight" = 2\nhidden = [8, 8]\n[roles.prey]\nlr = 1e-3\n[roles.prey.deep]\nx = "y"\n', encoding="utf8")
    keys = {"lr": 0.1, "env.sight": 2, "hidden": [8, 8], "roles.prey.lr": 0.001, "roles.prey.deep.x": "y"}
    assert read_file(str(path)) == keys


@pytest.mark.parametrize(("content", "sentence"), [(b"lr = = 3", "is no TOML: "), (b"lr = '\xff'", "is no TOML: "), (None, "cannot read ")])
def test_a_file_that_cannot_be_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "run.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as error:
        read_file(str(path))
    assert str(path) in str(error.value)
    with pytest.raises(ValueError, match="cannot read"):
        read_file(str(tmp_path))


def test_rows_tell_every_field():
    told = {row["key"]: row for row in rows(Part)}
    assert list(told) == [field.name for field in fields(Part)]
    assert told["count"] == {
        "key": "count", "type": "int", "default": 3, "help": "how many", "unit": "pieces", "traced": False, "acts": False, "source": "",
        "choices": (), "span": (1, 9), "code": False,
    }  # fmt: skip
    assert told["sizes"]["type"] == "list of int"
    assert told["maybe"]["type"] == "float?"
    assert told["rate"]["traced"]


def test_conversion_keeps_what_is_right():
    assert convert("count", 3, int, KNOWN["count"]) == 3
    assert tomllib.loads(f"x = {filled(number='1e22').number}")["x"] == 1e22
