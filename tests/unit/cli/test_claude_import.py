"""Copying settings and rules from Claude Code's directory."""

import json
import os
from pathlib import Path

import pytest

from betcode.cli.config.claude_import import read_claude_settings
from betcode.config.first_run import claude_directory, has_importable_settings
from betcode.config.load import load_settings

pytestmark = pytest.mark.behaviour("config.first-run.what", "config.first-run.copies")


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    path = tmp_path / ".claude"
    path.mkdir()
    return path


def test_it_is_found_where_claude_code_keeps_it() -> None:
    assert claude_directory({"HOME": "/h"}) == Path("/h/.claude")
    assert claude_directory({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == Path("/c")


def test_settings_and_rules_are_taken_as_they_are(claude: Path, tmp_path: Path) -> None:
    text = '{\n  "model": "opus", // mine\n  "permissions": {"deny": ["Bash(rm *)"], "defaultMode": "plan"}\n}'
    (claude / "settings.json").write_text(text)
    (claude / "rules/python").mkdir(parents=True)
    (claude / "rules/a.md").write_bytes(b"\xff any bytes")
    (claude / "rules/python/b.md").write_text("b")
    (claude / "history.jsonl").write_text("private")
    assert has_importable_settings(claude)
    found = read_claude_settings(claude)
    assert (found.settings, found.skipped) == (text, [])
    assert found.files == {"a.md": b"\xff any bytes", "python/b.md": b"b"}
    (tmp_path / "settings.json").write_text(found.settings or "")
    assert load_settings(tmp_path).warnings == ()


def test_rules_go_on_meaning_the_same_paths(claude: Path) -> None:
    lists = {"deny": ["Read(/secrets/**)", "Read(//etc/x)", "Read(~/y)", "Bash(/bin/x)"], "allow": ["Edit(/docs/*)"]}
    (claude / "settings.json").write_text(json.dumps({"permissions": lists}))
    copied = json.loads(read_claude_settings(claude).settings or "")["permissions"]
    assert copied["deny"] == [f"Read(/{claude}/secrets/**)", "Read(//etc/x)", "Read(~/y)", "Bash(/bin/x)"]
    assert copied["allow"] == [f"Edit(/{claude}/docs/*)"]


def test_links_are_followed_to_files_and_no_further(claude: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("linked")
    (claude / "rules/loop").mkdir(parents=True)
    (claude / "rules/a.md").symlink_to(tmp_path / "elsewhere.md")
    (claude / "rules/b.md").symlink_to("nothing")
    (claude / "rules/c.md").symlink_to("c.md")
    (claude / "rules/loop/up").symlink_to(claude / "rules")
    os.mkfifo(claude / "rules/pipe.md")
    found = read_claude_settings(claude)
    assert found.files == {"a.md": b"linked"}
    assert [sentence.partition("rules/")[2] for sentence in found.skipped] == [
        "b.md cannot be read: No such file or directory",
        "c.md cannot be read: Too many levels of symbolic links",
        "loop/up is not a regular file",
        "pipe.md is not a regular file",
    ]


def _broken(path: Path) -> None:
    path.write_text("{")


def _directory(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to("nothing")


def _huge(path: Path) -> None:
    path.write_bytes(b" " * (3 * 1024 * 1024))


def _wrong(path: Path) -> None:
    path.write_text('{"daemon": {"log_level": 3}}')


@pytest.mark.parametrize("make", [_broken, _directory, _dangling, _huge, _wrong])
def test_unusable_settings_are_skipped_with_a_sentence(claude: Path, make: object) -> None:
    assert callable(make)
    make(claude / "settings.json")
    found = read_claude_settings(claude)
    assert found.settings is None
    assert len(found.skipped) == 1
    assert str(claude / "settings.json") in found.skipped[0]


def test_invalid_or_too_large_rules_are_skipped_with_a_sentence(claude: Path) -> None:
    (claude / "rules").write_text("a file")
    assert "is not a directory" in read_claude_settings(claude).skipped[0]
    (claude / "rules").unlink()
    (claude / "rules").mkdir()
    (claude / "rules/huge.md").write_bytes(b"x" * (1024 * 1024 + 1))
    found = read_claude_settings(claude)
    assert found.files == {}
    assert "huge.md is too large" in found.skipped[0]


def test_nothing_is_nothing(claude: Path) -> None:
    assert not has_importable_settings(claude)
    assert not has_importable_settings(claude / "missing")
    assert (
        read_claude_settings(claude).settings,
        read_claude_settings(claude).files,
        read_claude_settings(claude).skipped,
    ) == (None, {}, [])
