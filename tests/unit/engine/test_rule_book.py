"""The rules of a directory: from which files, when they count, and how they are read again."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from betcode.config.paths import Paths
from betcode.engine.permissions.rule_files import RuleBook, RuleShelf
from betcode.rules import Layer, ScreenOutcome, ToolUse, screen
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    for name in ("work/.claude", "config", "state", "home"):
        (tmp_path / name).mkdir(parents=True)
    return Paths(tmp_path / "state", tmp_path / "config", tmp_path / "state" / "daemon.sock")


def book_of(paths: Paths, *allowed_tools: str) -> RuleBook:
    root = paths.state_dir.parent
    return RuleShelf(paths).book(str(root / "work"), {"HOME": str(root / "home")}, allowed_tools)


def local(paths: Paths) -> Path:
    return paths.state_dir.parent / "work" / ".claude" / "settings.local.json"


def team(paths: Paths) -> Path:
    return paths.state_dir.parent / "work" / ".claude" / "settings.json"


def user(paths: Paths) -> Path:
    return paths.config_dir / "settings.json"


def accept_for_claude(directory: Path, home: Path) -> None:
    projects = {str(directory): {"hasTrustDialogAccepted": True}}
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))


async def outcome(book: RuleBook, command: str) -> ScreenOutcome:
    await book.refresh()
    verdict = await book.file_io.inline_or_run(lambda: screen(ToolUse("Bash", {"command": command}), book.rules))
    return verdict.outcome


async def test_the_lists_of_all_layers_unite(paths: Paths) -> None:
    write_rules(local(paths), deny=["Bash(rm *)"])
    write_rules(team(paths), ask=["Bash(git push *)"])
    write_rules(user(paths), allow=["Bash(make *)"])
    book = book_of(paths, "Bash(git *)", "no rule at all (")
    assert await outcome(book, "rm x") is ScreenOutcome.DENY
    assert await outcome(book, "git push origin") is ScreenOutcome.ASK
    assert await outcome(book, "git status") is ScreenOutcome.ALLOW
    assert await outcome(book, "make it") is ScreenOutcome.ALLOW
    assert await outcome(book, "cat x") is ScreenOutcome.ASK
    assert {rule.source.layer for rule in book.lists.rules} == {Layer.FLAGS, Layer.LOCAL, Layer.PROJECT, Layer.USER}


async def test_before_the_files_are_read_nothing_is_allowed(paths: Paths) -> None:
    write_rules(user(paths), allow=["Bash"])
    book = book_of(paths, "Bash")
    assert screen(ToolUse("Bash", {"command": "ls"}), book.rules).outcome is ScreenOutcome.ASK


async def test_a_file_that_changes_is_read_again(paths: Paths) -> None:
    book = book_of(paths)
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    write_rules(user(paths), allow=["Bash(make *)"])
    assert await outcome(book, "make it") is ScreenOutcome.ALLOW
    write_rules(user(paths), allow=["Bash(cake *)"])  # as long as before, and in the same moment
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    user(paths).unlink()
    assert await outcome(book, "cake it") is ScreenOutcome.ASK


async def test_a_file_that_is_as_it_was_is_not_read_again(paths: Paths) -> None:
    write_rules(user(paths), allow=["Bash(make *)"])
    os.utime(user(paths), (1_000_000_000, 1_000_000_000))
    book = book_of(paths)
    assert await book.refresh()
    assert not await book.refresh()
    assert book.version == 1


async def test_allow_rules_of_a_project_count_once_it_is_trusted(paths: Paths) -> None:
    write_rules(team(paths), allow=["Bash(make *)"], deny=["Bash(rm *)"])
    write_rules(local(paths), allow=["Bash(cake *)"])
    book = book_of(paths)
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    assert await outcome(book, "cake it") is ScreenOutcome.ASK
    assert await outcome(book, "rm it") is ScreenOutcome.DENY
    root = paths.state_dir.parent
    accept_for_claude(root, root / "home")  # a directory above is not the project
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    accept_for_claude(root / "work", root / "home")
    assert await outcome(book, "make it") is ScreenOutcome.ALLOW
    assert await outcome(book, "cake it") is ScreenOutcome.ALLOW


async def test_a_directory_is_trusted_with_its_repository(paths: Paths) -> None:
    root = paths.state_dir.parent
    write_rules(team(paths), allow=["Bash(make *)"])
    (root / ".git").mkdir()
    accept_for_claude(root, root / "home")
    assert await outcome(book_of(paths), "make it") is ScreenOutcome.ALLOW


@pytest.mark.parametrize("what", ["a pipe", "a directory", "too long", "no JSON", "not readable text"])
async def test_a_file_that_cannot_be_read_holds_nobody_up_and_allows_nothing(paths: Paths, what: str) -> None:
    write_rules(user(paths), allow=["Bash(make *)"])
    match what:
        case "a pipe":
            os.mkfifo(team(paths))
        case "a directory":
            team(paths).mkdir()
        case "too long":
            team(paths).write_text(" " * 2_000_000)
        case "no JSON":
            team(paths).write_text('{"permissions": ')
        case _:
            team(paths).write_bytes(b"\xff\xfe")
    book = book_of(paths)
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    assert book.forbids
    assert str(team(paths)) in book.rules.broken[0]


async def test_betcodes_own_files_change_only_under_a_rule_that_names_them(paths: Paths) -> None:
    write_rules(user(paths), allow=["Edit(//**)"])
    book = book_of(paths)
    await book.refresh()

    def edited(path: str) -> ScreenOutcome:
        return screen(ToolUse("Edit", {"file_path": path}), book.rules).outcome

    for path in (user(paths), paths.database, paths.socket, paths.state_dir / "trusted-projects.json"):
        assert await book.file_io.inline_or_run(partial(edited, str(path))) is ScreenOutcome.ASK
    assert await book.file_io.inline_or_run(partial(edited, "/srv/x")) is ScreenOutcome.ALLOW


async def test_an_agent_is_handed_what_forbids_with_nothing_left_open(paths: Paths) -> None:
    write_rules(user(paths), deny=["Read(/own/**)", "Read(~/.ssh/**)", "Bash(rm *)"], allow=["Bash(make *)"])
    write_rules(team(paths), ask=["Edit(/docs/**)", "Edit(x.md)"])
    book = book_of(paths)
    await book.refresh()
    config, work = paths.config_dir, paths.state_dir.parent / "work"
    forbidden = book.forbidden(calls_are_screened=True)
    assert forbidden.deny == (f"Read(/{config}/own/**)", "Read(~/.ssh/**)", "Bash(rm *)")
    assert forbidden.ask == (f"Edit(/{work}/docs/**)", "Edit(x.md)")


@pytest.mark.parametrize(
    ("rule", "screened", "unscreened"),
    [
        ("Bash", "Bash(**)", "Bash"),
        ("Bash(*)", "Bash(**)", "Bash"),
        ("Bash(**)", "Bash(**)", "Bash(**)"),
        ("Bash(rm *)", "Bash(rm *)", "Bash(rm *)"),
        ("WebFetch", None, "WebFetch"),
        ("Read(*)", None, "Read(*)"),
        ("mcp__tracker", None, "mcp__tracker"),
        ("AskUserQuestion", None, None),
        ("ExitPlanMode", None, None),
    ],
)
async def test_a_deny_rule_is_passed_at_launch_unless_it_would_remove_the_tool_silently(
    paths: Paths, rule: str, screened: str | None, unscreened: str | None
) -> None:
    write_rules(user(paths), deny=[rule])
    book = book_of(paths)
    await book.refresh()
    assert book.forbidden(calls_are_screened=True).deny == (() if screened is None else (screened,))
    assert book.forbidden(calls_are_screened=False).deny == (() if unscreened is None else (unscreened,))
    assert book.needs_screening is (screened is None and unscreened is not None)


async def test_without_places_only_the_projects_files_count(paths: Paths) -> None:
    write_rules(user(paths), allow=["Bash(make *)"])
    write_rules(team(paths), deny=["Bash(rm *)"])
    book = RuleShelf().book(str(paths.state_dir.parent / "work"), {"HOME": "/nowhere"})
    assert await outcome(book, "make it") is ScreenOutcome.ASK
    assert await outcome(book, "rm it") is ScreenOutcome.DENY
