"""Claude Code's list of trusted projects is changed in one entry, under its own lock, or not at all."""

import json
import os
from pathlib import Path

import pytest

from betcode.engine.permissions import claude_trust
from support.git.repositories import git

OTHERS = {
    "numStartups": 3,
    "text": "\ud800é",
    "big": 12345678901234567890,
    "projects": {"/other": {"allowedTools": []}},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / ".claude.json"


def projects(config: Path) -> object:
    return json.loads(config.read_text())["projects"]


def test_a_file_that_is_not_there_is_made_with_one_entry_and_private(config: Path) -> None:
    claude_trust.accept(config, "/work")
    assert json.loads(config.read_text()) == {"projects": {"/work": {"hasTrustDialogAccepted": True}}}
    assert config.stat().st_mode & 0o777 == 0o600
    claude_trust.retract(config, "/work")
    assert projects(config) == {}


def test_everything_else_keeps_its_value(config: Path) -> None:
    config.write_text(json.dumps(OTHERS))
    config.chmod(0o640)
    claude_trust.accept(config, "/work")
    entries = {"/other": {"allowedTools": []}, "/work": {"hasTrustDialogAccepted": True}}
    assert json.loads(config.read_text()) == {**OTHERS, "projects": entries}
    claude_trust.retract(config, "/work")
    assert json.loads(config.read_text()) == OTHERS
    assert (config.stat().st_mode & 0o777, [path.name for path in config.parent.iterdir()]) == (0o640, [config.name])


def test_what_claude_code_added_to_the_entry_is_not_removed(config: Path) -> None:
    claude_trust.accept(config, "/work")
    settings = json.loads(config.read_text())
    settings["projects"]["/work"]["allowedTools"] = ["Bash"]
    config.write_text(json.dumps(settings))
    claude_trust.retract(config, "/work")
    assert projects(config) == {"/work": {"hasTrustDialogAccepted": False, "allowedTools": ["Bash"]}}


def test_a_symbolic_link_stays_one(config: Path) -> None:
    (config.parent / "dotfiles").mkdir()
    target = config.parent / "dotfiles" / "claude.json"
    target.write_text("{}")
    config.symlink_to(target)
    claude_trust.accept(config, "/work")
    assert (config.is_symlink(), "/work" in target.read_text()) == (True, True)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"projects": []}', '{"projects": {"/work": 1}}'])
def test_a_file_of_another_form_is_not_changed(config: Path, text: str) -> None:
    config.write_text(text)
    with pytest.raises(OSError, match="json has"):
        claude_trust.accept(config, "/work")
    assert (config.read_text(), [path.name for path in config.parent.iterdir()]) == (text, [config.name])


def test_a_lock_of_claude_code_is_respected(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_trust, "_LOCK_WAIT_S", 0.0)
    lock = Path(f"{config}.lock")
    lock.mkdir()
    with pytest.raises(TimeoutError, match="Claude Code is writing"):
        claude_trust.accept(config, "/work")
    assert (config.exists(), lock.exists()) == (False, True)
    os.utime(lock, (0, 0))  # its owner is gone
    claude_trust.accept(config, "/work")
    assert (config.exists(), lock.exists()) == (True, False)


def test_a_directory_of_a_repository_is_listed_by_the_whole_only(tmp_path: Path) -> None:
    below = tmp_path / "repository" / "below"
    below.mkdir(parents=True)
    assert claude_trust.is_one_project(str(below))
    git(below.parent, "init", "--quiet")
    assert (claude_trust.is_one_project(str(below)), claude_trust.is_one_project(str(below.parent))) == (False, True)
