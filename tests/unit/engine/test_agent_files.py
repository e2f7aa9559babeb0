"""The rules that an agent gets in place of those in its own files, and when it keeps its own."""

from pathlib import Path

import pytest

from betcode.domain.runs.launch import OnlyRules
from betcode.engine.permissions.rule_files import RuleBook, RuleShelf
from support.git.repositories import git
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work", "home", "admin"):
        (tmp_path / name).mkdir()
    return tmp_path / "work"


def own_file(work: Path) -> Path:
    return work.parent / "home" / ".claude" / "settings.json"


async def book_of(work: Path, *, of_claude: bool = True) -> RuleBook:
    shelf = RuleShelf(managed=work.parent / "admin")
    book = shelf.book(str(work), {"HOME": str(work.parent / "home")}, of_claude=of_claude)
    await book.refresh()
    return book


def only(book: RuleBook, *, screened: bool = True, reads_project: bool = True) -> OnlyRules | None:
    return book.only_rules(calls_are_screened=screened, reads_project=reads_project)


async def test_the_removal_is_left_out_and_every_other_rule_is_passed(work: Path) -> None:
    write_rules(
        own_file(work), deny=["Write", "Bash", "ExitPlanMode", "Read(/x)"], ask=["WebFetch"], allow=["Bash(ls)"]
    )
    book = await book_of(work)
    assert only(book) == OnlyRules(("Bash(ls)",), ("WebFetch",), ("Bash(**)", f"Read(/{own_file(work).parent}/x)"))
    assert only(book, screened=False) == OnlyRules(
        ("Bash(ls)",), ("WebFetch",), ("Write", "Bash", f"Read(/{own_file(work).parent}/x)")
    )


async def test_a_file_that_removes_nothing_is_left_to_the_agent(work: Path) -> None:
    write_rules(own_file(work), deny=["Bash(rm *)"], allow=["Bash(ls)"])
    book = await book_of(work)
    assert (only(book), book.lists.rules) == (None, ())


async def test_without_screening_only_tools_for_people_are_given_back(work: Path) -> None:
    write_rules(own_file(work), deny=["Bash"])
    assert only(await book_of(work), screened=False) is None


async def test_files_of_a_project_that_the_agent_ignores_remove_nothing(work: Path) -> None:
    write_rules(work / ".claude" / "settings.json", deny=["Bash"])
    book = await book_of(work)
    assert (only(book) is None, only(book, reads_project=False)) == (False, None)


async def test_allow_rules_of_an_untrusted_project_are_not_passed(work: Path) -> None:
    write_rules(work / ".claude" / "settings.json", deny=["Bash"], allow=["Write"])
    assert only(await book_of(work)) == OnlyRules((), (), ("Bash(**)",))


@pytest.mark.parametrize("why", ["managed", "drop-in", "unreadable rule", "local file above"])
async def test_rules_that_are_not_known_as_a_whole_are_left_to_the_agent(work: Path, why: str) -> None:
    write_rules(own_file(work), deny=["Bash", *(["Read(x"] if why == "unreadable rule" else [])])
    if why == "managed":
        write_rules(work.parent / "admin" / "managed-settings.json", deny=["WebSearch"])
    elif why == "drop-in":
        write_rules(work.parent / "admin" / "managed-settings.d" / "10-rules.json", deny=["WebSearch"])
    elif why == "local file above":
        git(work.parent, "init", "--quiet")
        write_rules(work.parent / ".claude" / "settings.local.json")
    book = await book_of(work)
    assert only(book) is None
    rule = book.removal("Bash")
    assert rule is not None
    assert str(rule) == f"deny Bash ({own_file(work)}:1)"


async def test_an_agent_of_another_program_does_not_read_the_file(work: Path) -> None:
    write_rules(own_file(work), deny=["Bash"])
    book = await book_of(work, of_claude=False)
    assert (book.removal("Bash"), book.lists.rules) == (None, ())


async def test_a_rule_that_is_added_later_is_read(work: Path) -> None:
    book = await book_of(work)
    write_rules(own_file(work), deny=["Bash"])
    assert await book.has_changed()
    await book.refresh()
    assert only(book) is not None
