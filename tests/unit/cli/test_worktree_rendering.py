"""Worktrees as text, and the directory of a new session."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from betcode.cli.core.parser import build_parser
from betcode.cli.session.list import session_lines
from betcode.cli.worktree.prune import report_lines
from betcode.cli.worktree.rendering import BRANCHES, SETUPS, STATES, contents_lines, state_words
from betcode.cli.worktree.start_directory import may_lead_elsewhere
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.agent_pb2 import SessionSummary
from betcode.wording.terminal_text import columns


def test_every_state_has_a_word() -> None:
    assert set(STATES) == set(v1.WorktreeState.values()) - {0}
    assert set(SETUPS) == set(v1.WorktreeSetup.values()) - {0}
    assert set(BRANCHES) == set(v1.BranchState.values()) - {0}


def test_a_setup_that_failed_and_a_lock_are_part_of_the_state() -> None:
    ready = v1.WorktreeInfo(state=v1.WORKTREE_STATE_READY, setup=v1.WORKTREE_SETUP_FAILED, is_locked=True)
    assert state_words(ready) == "setup failed, locked"
    ready.state = v1.WORKTREE_STATE_STALE
    ready.is_locked = False
    assert state_words(ready) == "stale"


def test_every_lost_file_is_named_or_counted() -> None:
    lost = v1.WorktreeContents(
        changed=[v1.ChangedPath(path="a", status=" M"), v1.ChangedPath(path="c", status="R ", from_path="b")],
        untracked=["d"],
        untracked_count=1001,
        unpushed=[v1.UnpushedCommit(commit="0123456789abcdef", subject="fix it")],
        in_progress="a merge",
        brought_along_changed=[".env"],
        submodules=["lib has changes"],
    )
    assert contents_lines(lost) == [
        "In progress: a merge",
        "Changed (2):",
        "   M a",
        "  R  b -> c",
        "Untracked (1001):",
        "  d",
        "  … and 1000 more",
        "Commits that exist only here (1):",
        "  0123456789 fix it",
        "Copied files changed since (1):",
        "  .env",
        "In submodules (1):",
        "  lib has changes",
    ]


@pytest.mark.parametrize(
    ("words", "name", "argv"),
    [
        (["x", "--", "ls", "--json", "--", "-l"], "x", ["ls", "--json", "--", "-l"]),
        (["--json", "x", "--", "make"], "x", ["make"]),
        (["x", "--json", "--", "make"], "x", ["make"]),
        (["x"], "x", []),
    ],
)
def test_arguments_after_two_dashes_are_the_command_unchanged(words: list[str], name: str, argv: list[str]) -> None:
    chosen = build_parser().parse_args(["worktree", "run", *words])
    assert (chosen.name, chosen.argv) == (name, argv)
    assert chosen.json == ("--json" in words[: words.index("--") if "--" in words else None])


def test_only_the_main_worktree_of_a_repository_that_has_others_leads_elsewhere(tmp_path: Path) -> None:
    below = tmp_path / "shop" / "src"
    below.mkdir(parents=True)
    assert not may_lead_elsewhere(str(below))
    (tmp_path / "shop/.git").mkdir()
    assert not may_lead_elsewhere(str(below))
    (tmp_path / "shop/.git/worktrees/fix").mkdir(parents=True)
    assert may_lead_elsewhere(str(below))
    other = tmp_path / "shop" / "sub"
    other.mkdir()
    (other / ".git").write_text("gitdir: elsewhere\n")
    assert not may_lead_elsewhere(str(other))


@pytest.mark.parametrize("width", [40, 70, 100, 200])
def test_the_reasons_of_a_report_are_never_cut(width: int) -> None:
    reason = "It has 2 changed files (a, b) and 1 commit that exists nowhere else (0123456 half of it)"
    info = v1.WorktreeInfo(name="fix-login", branch="feature/login")
    now = datetime(2026, 11, 15, tzinfo=UTC)
    lines = report_lines([v1.WorktreeReport(worktree=info, size_bytes=3_000_000, reason=reason)], now, width)
    assert all(columns(line) <= width for line in lines)
    assert reason in " ".join(" ".join(lines).split())
    assert (len(lines) == 2) == (width == 200)


def test_a_name_is_one_line_of_a_list_and_nothing_is_obeyed() -> None:
    lost = v1.WorktreeContents(untracked=["a\nCommits that exist only here (0):", "\x1b[2Jb\u202e"])
    assert contents_lines(lost) == ["Untracked (2):", "  a␊Commits that exist only here (0):", "  ␛[2Jb\\u202e"]


def test_a_command_without_two_dashes_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["worktree", "run", "fix", "make", "a test"])
    assert "put the command after `--`: -- make 'a test'. See: betcode worktree run --help" in capsys.readouterr().err


def test_turns_begin_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["session", "diff", "x", "--turn", "0"])
    assert "'0' is not a turn" in capsys.readouterr().err


def test_sessions_are_listed_with_their_worktrees_where_any_has_one() -> None:
    plain = SessionSummary(id="a" * 36, working_directory="/code/shop", provider="demo")
    bound = SessionSummary(id="b" * 36, working_directory="/code/shop-x", provider="demo", worktree_name="x" * 60)
    now = datetime.now(UTC)
    assert "WORKTREE" not in session_lines([plain], now, 120)[0]
    head, _, line = session_lines([plain, bound], now, 140)
    assert "WORKTREE" in head
    assert "x" * 23 + "…" in line
    for width in (60, 80, 100):
        assert all(columns(each) <= width for each in session_lines([plain, bound], now, width))
