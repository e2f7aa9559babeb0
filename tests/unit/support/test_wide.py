"""The marker `wide` is on what needs programs from npm and on all but the representatives of large matrices."""

from pathlib import Path

from support.plugins.wide import representative, wide_by_folder, wide_where


def marked(parameters: list) -> dict[str, bool]:  # type: ignore[type-arg] # pytest does not publish the type
    return {each.id: [mark.name for mark in each.marks] == ["wide"] for each in parameters}


def test_the_first_case_of_each_group_is_a_representative() -> None:
    cases = ["lock-file", "lock-fifo", "socket-fifo", "lock-link", "socket-file"]
    assert marked(representative(cases, lambda case: case.split("-")[0])) == {
        "lock-file": False,
        "lock-fifo": True,
        "socket-fifo": False,
        "lock-link": True,
        "socket-file": True,
    }


def test_every_case_stays_a_parameter() -> None:
    parameters = representative(range(7), lambda number: number % 3, lambda number: f"case {number}")
    assert [each.values for each in parameters] == [(number,) for number in range(7)]
    assert [each.id for each in parameters] == [f"case {number}" for number in range(7)]


def test_cases_are_wide_where_a_rule_decides_so() -> None:
    assert marked(wide_where(["openai", "codex"], {"codex"}.__contains__)) == {"openai": False, "codex": True}


TESTS = Path("/checkout/tests")


def by_folder(*found: tuple[str, str]) -> list[bool]:
    return wide_by_folder([(TESTS / path, function) for path, function in found], TESTS)


def test_a_folder_of_npm_programs_is_wide() -> None:
    found = [
        ("live/codex/test_turns.py", "test_a"),
        ("unit/live/codex/test_turns.py", "test_a"),
        ("/elsewhere/live/codex/x.py", "test_a"),
    ]
    assert by_folder(*found) == [True, False, False]


def test_the_first_test_of_each_file_with_the_real_claude_is_not_wide() -> None:
    first, second = "live/claude/test_turns.py", "live/claude/test_crashes.py"
    found = [(first, "test_a"), (first, "test_a"), (first, "test_b"), (second, "test_b"), (first, "test_c")]
    assert by_folder(*found) == [False, False, True, False, True]
