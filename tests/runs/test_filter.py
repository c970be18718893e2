"""The filter language: what it means (against a plain evaluator), how it prints, what it refuses."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agonist.runs.filter import DEEPEST, And, Compare, FilterError, Has, Not, Or, Tag, compile_filter, fields_of, parse, show

ROW = {
    "algo": "ppo", "env": "lbf:2s-8x8-2p-2f-coop", "seed": 3, "lr": 1e-3, "hidden": [128, 128], "use_json": True, "archived": False,
    "eval/return": 0.95, "note": None, "tags": ["paper", "to do"], "created": "2026-11-01T09:30:00.000+00:00", "env.sight": 2,
    "and": "x",
}  # fmt: skip
FIELDS = ["algo", "seed", "lr", "missing", "note", "use_json", "two words", "and", "eval/return"]
VALUES = ["ppo", "PP", "3", "2.9", "1e-3", "true", "", "or", "it's", 'say "no"', "back\\slash", "p*o", "(x)", "tag:x", "é\n"]


@pytest.mark.parametrize(
    ("text", "meets"),
    [
        ('algo = "ppo" and env ~ "lbf" and eval/return > 0.9 and tag:paper', True),
        ("algo = ppo and tag:draft", False),
        ("algo = sac or algo = ppo and seed = 4", False),
        ("(algo = sac or algo = ppo) and seed = 3", True),
        ("NOT algo = sac", True),
        ("lr = 0.001 and lr >= 1e-3 and lr < 2E-3", True),
        ("seed = 3.0 and seed != 4 and seed = '3'", True),
        ("seed = three", False),
        ("seed != three", True),
        ("env ~ LBF*coop", True),
        ("env ~ coop*lbf", False),
        ("seed ~ 3", True),
        ("hidden = [128,128] and hidden ~ 128", True),
        ("hidden = '[128, 128]'", True),
        ("hidden > 1", False),
        ("use_json = true and archived = FALSE and not use_json = 1", True),
        ("use_json > false", False),
        ("tag:'to do' and tags ~ to", True),
        ("has:lr and not has:note and not has:missing", True),
        ("missing = 1", False),
        ("missing != 1", False),
        ("not missing = 1", True),
        ("note = null", False),
        ("created = 2026-11-01 and created >= 2026-11-01 and created <= 2026-11-01", True),
        ("created > 2026-11-01", False),
        ("created < 2026-11-01", False),
        ("created > 2026-11-01T09:00 and created < 2026-11-01T10:00", True),
        ("created = 2026-11-01T10:30:00+01:00", True),
        ("created ~ 2026-11", True),
        ("algo > pp and algo < pq", True),
        ("env.sight = 2", True),
        ("'and' = x", True),
    ],
)
def test_what_a_filter_means(text, meets):
    assert compile_filter(text)(ROW) is meets
    assert compile_filter(show(parse(text)))(ROW) is meets


def test_ages_count_from_creation(monkeypatch):
    from agonist.runs import matching

    monkeypatch.setattr(matching.time, "time", lambda: 1_793_525_400.0 + 3600)  # an hour after ROW was created
    for text, meets in (("age < 2h", True), ("age < 30m", False), ("age >= 3600", True), ("age > 1d", False), ("age = 60min", True)):
        assert compile_filter(text)(ROW) is meets, text
    assert not compile_filter("age < 2h")({})
    assert compile_filter("wall_seconds > 1m")({"wall_seconds": 61.0})


def naive(node, row):
    """The same by a slow, plain reading of the rules."""
    match node:
        case And(parts):
            return False not in [naive(part, row) for part in parts]
        case Or(parts):
            return True in [naive(part, row) for part in parts]
        case Not(part):
            return not naive(part, row)
        case Tag(name):
            return name in row["tags"]
        case Has(field):
            return field in row and row[field] is not None
        case Compare(field, sign, value):
            found = row.get(field)
            if found is None:
                return False
            if sign == "~":
                text = {True: "true", False: "false"}[found] if isinstance(found, bool) else str(found)
                rest = text.lower()
                for piece in value.lower().split("*"):
                    if piece not in rest:
                        return False
                    rest = rest[rest.index(piece) + len(piece) :]
                return True
            if isinstance(found, bool):
                order = 0 if value.lower() == str(found).lower() else None
            elif isinstance(found, str):
                order = (found > value) - (found < value)
            else:
                try:
                    order = (found > float(value)) - (found < float(value))
                except ValueError:
                    order = None
            if order is None:
                return sign == "!="
            if isinstance(found, bool) and sign not in ("=", "!="):
                return False
            return {"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


leaves = st.one_of(
    st.builds(
        Compare, st.sampled_from(FIELDS), st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]), st.sampled_from(VALUES) | st.text()
    ),
    st.builds(Tag, st.sampled_from(["paper", "to do", "x", ""]) | st.text()),
    st.builds(Has, st.sampled_from(FIELDS)),
)
several = lambda nodes: st.lists(nodes, min_size=2, max_size=3).map(tuple)  # noqa: E731
trees = st.recursive(leaves, lambda nodes: st.one_of(st.builds(Not, nodes), st.builds(And, several(nodes)), st.builds(Or, several(nodes))))


@given(trees)
def test_a_tree_prints_as_the_text_that_it_is_read_from(tree):
    assert parse(show(tree)) == tree


@given(trees)
def test_a_filter_means_what_a_plain_reading_means(tree):
    assert compile_filter(show(tree))(ROW) is naive(tree, ROW)


@given(st.text() | st.text(alphabet="ab=<>!~()'\"\\ \t*andortg:019.-"))
@example("a = \x00")
@example('"\\"')
def test_any_text_is_a_filter_or_is_refused_with_a_caret(text):
    try:
        node = parse(text)
    except FilterError as refused:
        node, error = None, refused
    if node is None:
        first, shown, caret = str(error).split("\n")
        assert (first, shown[:2], caret.lstrip()[:2]) == ("this is no filter:", "  ", "^ ")
        assert 0 <= error.at <= len(text)
        return
    assert parse(show(node)) == node
    compile_filter(text)(ROW)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", 0, "expected a test such as algo = ppo"),
        ("algo", 4, "expected one of = != < <= > >= ~"),
        ("algo = ", 7, "expected a value"),
        ("algo == ppo", 6, "expected a value"),
        ("algo = ppo env = lbf", 11, "expected `and`, `or` or the end"),
        ("note ~ two words", 11, "several words stands in quotes"),
        ("(algo = ppo", 11, "a ) for the ( at 1"),
        ("algo = ppo)", 10, "expected `and`, `or` or the end"),
        ("algo ! ppo", 5, "expected != here"),
        ("algo = 'ppo", 7, "this quote is not closed"),
        ("and = 1", 0, "expected a test"),
        ("algo = and", 7, "expected a value"),
        ("tag: paper", 5, "right behind tag:"),
        ("created > soon", 10, "created needs a day or a time such as 2026-11-01"),
        ("age < 2 fortnights", 8, "expected `and`"),
        ("age < 2y", 6, "age needs seconds or a time such as 90s"),
    ],
)
def test_what_is_no_filter_is_said_with_a_caret_under_the_spot(text, column, expected):
    with pytest.raises(FilterError) as caught:
        parse(text)
    _, shown, caret = str(caught.value).split("\n")
    assert shown == f"  {text}"
    assert caret.index("^") == column + 2
    assert expected in caret


def test_a_long_filter_is_shown_around_the_spot():
    text = " or ".join(f"seed = {i}" for i in range(500)) + " oder " + " or ".join(["seed = 1"] * 500)
    with pytest.raises(FilterError) as caught:
        parse(text)
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^") :].startswith("oder")
    wide = "名 = 1 name = 2"
    with pytest.raises(FilterError) as caught:
        parse(wide)
    assert str(caught.value).split("\n")[2].index("^") == 2 + 1 + wide.index("name")  # that sign takes two columns


def test_nesting_has_an_end_and_chains_have_none():
    deepest = "(" * DEEPEST + "seed = 3" + ")" * DEEPEST
    assert compile_filter(deepest)(ROW)
    for text in ("(" + deepest + ")", "not " * 100_000 + "seed = 3", "(" * 100_000):
        with pytest.raises(FilterError, match="nested more than 50 deep"):
            parse(text)
    assert compile_filter(" and ".join(["seed = 3"] * 20_000))(ROW)


def test_no_text_is_searched_for_ever():
    pattern = compile_filter("algo ~ '" + "a*" * 5000 + "b'")
    assert not pattern({"algo": "a" * 20_000})


def test_the_fields_of_a_filter():
    assert fields_of(parse("a = 1 or not (b > 2 and tag:x) or has:c")) == {"a", "b", "c", "tags"}
