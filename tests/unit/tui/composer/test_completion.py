"""Completion candidates for the word at the cursor."""

from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.composer.completion import (
    CompletionKind,
    CompletionRequest,
    ScreenCommand,
    can_be_mentioned,
    command_candidates,
    completion_at,
    file_candidates,
    history_candidates,
    mention,
    own_command,
)
from betcode.tui.composer.file_list import list_files, walked

AGENTS = (ScreenCommand("compact", "its own"), ScreenCommand("review\x1b[2J", "evil \x1b[31m", "<file>"))


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("see @src/a", CompletionRequest(CompletionKind.FILE, "src/a", 4, 10)),
        ('see @"two w', CompletionRequest(CompletionKind.FILE, "two w", 4, 11)),
        ("(@x", CompletionRequest(CompletionKind.FILE, "x", 1, 3)),
        ("@", CompletionRequest(CompletionKind.FILE, "", 0, 1)),
        ("somebody@example", None),
        ("@done ", None),
        ('@"done" ', None),
        ("/he", CompletionRequest(CompletionKind.COMMAND, "/he", 0, 3)),
        ("//", CompletionRequest(CompletionKind.COMMAND, "//", 0, 2)),
        ("/rename x", None),
        ("/etc/hosts", None),
        ("and /he", None),
    ],
)
def test_the_word_before_the_cursor_is_completed(typed: str, wanted: CompletionRequest | None) -> None:
    assert completion_at(typed + " and more", len(typed)) == wanted


def test_a_name_that_both_have_is_the_agents_unless_it_has_two_slashes() -> None:
    names = {"compact"}
    assert own_command("/compact", names) is None
    assert own_command("//compact", names) == ("compact", "")
    assert own_command("/compact", ()) == ("compact", "")
    assert own_command(" /rename a name ", names) == ("rename", "a name")
    for text in ("/unknown", "/usr/bin", "///help", "/help\nme", "help", "/"):
        assert own_command(text, names) is None


def test_commands_of_both_are_offered_with_the_agents_first() -> None:
    offered = command_candidates("/com", AGENTS)
    assert [one.inserted for one in offered] == ["/compact ", "//compact "]
    assert [one.inserted for one in command_candidates("//co", AGENTS)] == ["//compact "]
    (evil,) = command_candidates("/review", AGENTS)
    assert "\x1b" not in evil.shown + evil.inserted + evil.note


def test_the_better_match_comes_first() -> None:
    paths = ["docs/main/x.md", "src/remain.py", "m/a/i/n.txt", "src/main.py", "other"]
    assert [one.shown for one in file_candidates("main", paths)] == [
        "src/main.py",
        "src/remain.py",
        "docs/main/x.md",
        "m/a/i/n.txt",
    ]
    assert [one.shown for one in file_candidates("smpy", paths)] == ["src/main.py", "src/remain.py"]


@given(st.text(min_size=1, alphabet="ab /.-é'(").filter(can_be_mentioned))
def test_a_mentioned_path_can_be_read_back(path: str) -> None:
    written = mention(path)
    assert written[1:].strip('" ') in (path, path.strip('" '))
    if not path.endswith("/") and written.startswith('@"'):
        assert written.endswith('" ')


def test_history_is_searched_whatever_the_case() -> None:
    found = history_candidates("FIX", ["Fix the\ntests", "other", "prefix"])
    assert [(one.shown, one.inserted) for one in found] == [("Fix the tests", "Fix the\ntests"), ("prefix", "prefix")]


@pytest.mark.anyio
async def test_files_are_listed_without_ignored_ones(tmp_path: Path) -> None:
    await anyio.run_process(["git", "init", "-q", str(tmp_path)])
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "src").mkdir()
    for name in ("src/new.py", "x.log", "odd\x1bname", "two words"):
        (tmp_path / name).write_text("")
    assert set(await list_files(str(tmp_path))) == {".gitignore", "src/", "src/new.py", "two words"}
    assert await list_files(str(tmp_path / "missing")) == ()


@pytest.mark.anyio
async def test_a_directory_without_git_is_walked_within_limits(tmp_path: Path) -> None:
    (tmp_path / "a" / ".hidden").mkdir(parents=True)
    (tmp_path / "a" / ".hidden" / "x").write_text("")
    (tmp_path / "a" / "b").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert set(await list_files(str(tmp_path))) == {"a/", "a/b"}
    assert len(walked(str(tmp_path), limit=1)) == 1
