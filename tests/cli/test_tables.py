from agonist.cli.tables import table, width_of


def test_columns_stand_one_under_another():
    rows = [{"name": "a", "many": "1,000", "mark": "ok"}, {"name": "名前", "many": "7", "mark": ""}]
    drawn = table(["name", "many", "mark"], rows, right=["many"], style=lambda column, cell: "green" if cell == "ok" else "")
    assert drawn.plain.split("\n") == ["name   many  mark", "a     1,000  ok", "名前      7"]
    assert [drawn.plain[span.start : span.end] for span in drawn.spans if span.style == "green"] == ["ok"]
    assert width_of("name", rows) == 6
    assert table(["a", "b"], []).plain == "a  b"


def test_a_cell_is_text_on_one_line():
    drawn = table(["name", "x"], [{"name": "a\x1b]0;b\nc", "x": "1"}])
    assert drawn.plain.split("\n") == ["name      x", "a?]0;b c  1"]
