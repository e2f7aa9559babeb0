"""A table fits the terminal."""

import pytest

from betcode.cli.terminal.table import table, uncut_table
from betcode.wording.terminal_text import columns, ending

HEADINGS = ("ID", "STATUS", "COST", "DIRECTORY", "LAST")
ROWS = [
    ("01a1ddff-31fb", "waits for you", "$0.01", "/home/somebody/code/a-project", "the words that were said last"),
    ("01a1ddff-1f26", "idle", "", "/tmp", "日本語のテキストもある"),
]


def lines(width: int) -> list[str]:
    return table(HEADINGS, ROWS, width, path="DIRECTORY", spare=("COST",))


@pytest.mark.parametrize("width", [60, 72, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(columns, lines(width))) <= width


def test_a_wide_table_is_not_cut() -> None:
    heading, first, _ = lines(200)
    assert heading.split() == list(HEADINGS)
    assert all(cell in first for cell in ROWS[0])


def test_a_narrow_terminal_omits_spare_columns_and_shows_the_end_of_a_path() -> None:
    heading, first, _ = lines(60)
    assert "COST" not in heading
    assert "…" in first
    assert "a-project" in first
    assert "the words" in first


def test_an_id_gives_way_last_and_a_tab_is_a_space() -> None:
    rows = [("01a1ddff-31fb", "waits for you", "tab\there and more of it")]
    assert "01a1ddff-31fb  waits" in table(("ID", "STATUS", "NAME"), rows, 40)[1]
    assert "tab here" in table(("ID", "STATUS", "NAME"), rows, 80)[1]
    assert columns(table(("ID", "STATUS", "NAME"), [("1" * 36, "waits for you", "a name")], 40)[1]) <= 40


def test_the_end_of_a_text_is_measured_in_columns() -> None:
    assert ending("/a/b", 4) == "/a/b"
    assert ending("/long/path", 5) == "…path"
    assert ending("/日本", 4) == "…本"


def test_a_path_in_the_last_column_loses_its_beginning() -> None:
    lines = table(("NAME", "PATH"), [("a", "/a/long/way/to/the/place")], 20, path="PATH")
    assert lines[1] == "a     …/to/the/place"


def test_without_spare_columns_the_widest_are_cut() -> None:
    rows = [["a" * 30, "修复登录页面" * 4, "/a/long/path/to/a/place"]]
    for width in (20, 40, 80):
        lines = table(("NAME", "BRANCH", "PATH"), rows, width, path="PATH")
        assert all(columns(line) <= width for line in lines), width
    assert table(("NAME", "BRANCH", "PATH"), rows, 200, path="PATH")[1].split() == rows[0]


def test_a_path_column_may_be_omitted() -> None:
    lines = table(
        ("ID", "PATH", "TEXT"), [["x" * 13, "/a/b/c/d/e/f/g/h", "some words"]], 30, path="PATH", spare=["PATH"]
    )
    assert lines == ["ID             TEXT", "xxxxxxxxxxxxx  some words"]


def test_uncut_cells_are_printed_below_each_other() -> None:
    rows = [("deny", "Bash(rm -rf /very/long/place/that/nobody/wants:*)", "/home/me/.config/betcode/settings.json:12")]
    headings = ("RULE", "WHAT", "FROM")
    assert len(uncut_table(headings, rows, 200)) == len(uncut_table(headings, rows, None)) == 2
    narrow = uncut_table(headings, rows, 40)
    assert all(columns(line) <= 40 for line in narrow)
    assert "".join(" ".join(narrow).split()) == "".join("".join(rows[0]).split())
