import pytest

from agonist.runs.matching import comparison, moment, span, text_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("7d", 604800), ("1w", 604800), ("1e3", 1000)]
)
def test_spans(text, seconds):
    assert span(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "2y", "-3", "h", "1 2", "inf", "nan"])
def test_what_is_no_span(text):
    with pytest.raises(ValueError, match="seconds or a time such as"):
        span(text)


def test_moments():
    assert moment("1970-01-02") == (86400.0, 172799.999999)
    assert moment("1970-01-01T01:00") == (3600.0, 3600.0)
    assert moment("1970-01-01T01:00+01:00") == (0.0, 0.0)
    with pytest.raises(ValueError, match="a day or a time"):
        moment("yesterday")


def test_of_three_orders_exactly_one_holds_for_a_day():
    for stamp in (
        "2026-10-31T23:59:59.999+00:00",
        "2026-11-01T00:00:00.000+00:00",
        "2026-11-01T23:59:59.999+00:00",
        "2026-11-02T00:00:00+00:00",
    ):
        held = [sign for sign in ("<", "=", ">") if comparison("created", sign, "2026-11-01")({"created": stamp})]
        assert len(held) == 1, stamp
        assert comparison("created", ">=", "2026-11-01")({"created": stamp}) is (held != ["<"])
        assert comparison("created", "<=", "2026-11-01")({"created": stamp}) is (held != [">"])
    assert not comparison("created", "<", "2026-11-01")({"created": "long ago"})


def test_values_as_text():
    assert [text_of(value) for value in ("a", 1, 1e-3, True, None, [1, [2.5, "x"]])] == ["a", "1", "0.001", "true", "null", "[1,[2.5,x]]"]
