"""A settings file is changed whole or not at all, and only to something right."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.config.edit import file_edit as changing
from betcode.config.edit.file_edit import (
    NO_FILE,
    ChangedMeanwhile,
    NotChanged,
    change,
    rewrite,
    setting_of,
    state_of,
    value_of,
)
from betcode.config.file_reader import FILE_BYTES
from betcode.config.load import WrongSetting, from_environment, load_settings
from betcode.config.origins import Layer

TEXT = """\
{
  // so many at once
  "agents": { "turn_limit": 3 }, /* and no more */
  "model": "opus",
  "mine": [1, 2]
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(TEXT)
    return path


def test_a_change_keeps_comments_and_what_is_not_ours(path: Path) -> None:
    assert change(path, Layer.USER, {"agents.turn_limit": 4})
    assert path.read_text() == TEXT.replace("3", "4")
    assert not change(path, Layer.USER, {"agents.turn_limit": 4})
    assert change(path, Layer.USER, {}, ["agents.turn_limit"])
    assert load_settings(path.parent).settings.engine.turn_limit == 5
    assert "// so many at once" in path.read_text()


def test_the_mode_stays_and_a_new_file_is_private(tmp_path: Path, path: Path) -> None:
    path.chmod(0o640)
    change(path, Layer.USER, {"agents.turn_limit": 4})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    new = tmp_path / "new/deeper/settings.json"
    change(new, Layer.USER, {"agents.turn_limit": 4})
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.parent.stat().st_mode) == 0o700
    assert new.read_text() == '{\n  "agents": {\n    "turn_limit": 4\n  }\n}\n'


def test_a_link_stays_a_link(tmp_path: Path, path: Path) -> None:
    link = tmp_path / "config/settings.json"
    link.parent.mkdir()
    link.symlink_to(path)
    assert change(link, Layer.USER, {"agents.turn_limit": 4})
    assert link.is_symlink()
    assert load_settings(path.parent).settings.engine.turn_limit == 4


@pytest.mark.parametrize(
    ("key", "value"),
    [("agents.turn_limit", 0), ("daemon.log_level", "loud"), ("permissions.default_ttl", "59m"), ("model.x", 1)],
)
def test_a_wrong_value_is_not_written(path: Path, key: str, value: object) -> None:
    with pytest.raises(WrongSetting):
        change(path, Layer.USER, {key: value})
    assert path.read_text() == TEXT
    assert list(path.parent.iterdir()) == [path]


def test_a_file_with_two_wrong_values_can_be_mended_one_by_one(path: Path) -> None:
    path.write_text('{"agents.turn_limit": 0, "agents.queue_limit": -1}')
    change(path, Layer.USER, {"agents.turn_limit": 2})
    with pytest.raises(WrongSetting, match="queue_limit"):
        change(path, Layer.USER, {"agents.queue_limit": -2})
    change(path, Layer.USER, {}, ["agents.queue_limit"])
    assert load_settings(path.parent).settings.engine.turn_limit == 2


def test_what_would_not_go_together_with_a_variable_is_refused(path: Path) -> None:
    above = [from_environment({"BETCODE_PERMISSIONS_MAX_TTL": "1d"})]
    with pytest.raises(WrongSetting):
        change(path, Layer.USER, {"permissions.default_ttl": "2d"}, above=above)
    assert change(path, Layer.USER, {"permissions.default_ttl": "2h"}, above=above)


def test_a_change_of_what_somebody_else_changed_is_refused(path: Path) -> None:
    state = state_of(path.read_text())
    change(path, Layer.USER, {"agents.turn_limit": 4}, if_unchanged=state)
    with pytest.raises(ChangedMeanwhile):
        change(path, Layer.USER, {"agents.turn_limit": 5}, if_unchanged=state)
    path.unlink()
    change(path, Layer.USER, {"agents.turn_limit": 5}, if_unchanged=NO_FILE)
    with pytest.raises(ChangedMeanwhile):
        change(path, Layer.USER, {"agents.turn_limit": 6}, if_unchanged=NO_FILE)


def test_writers_wait_for_each_other_and_not_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changing, "_PATIENCE_S", 0.05)

    def edit(text: str) -> str:
        with pytest.raises(NotChanged, match="another process is changing it"):
            change(path, Layer.USER, {"agents.turn_limit": 9})
        return text.replace("3", "4")

    assert rewrite(path, Layer.USER, edit)
    assert load_settings(path.parent).settings.engine.turn_limit == 4


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _not_text(path: Path) -> None:
    path.write_bytes(b"\xff")


def _no_parent(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("a file")


@pytest.mark.parametrize("make", [_loop, _directory, _not_text, _no_parent])
def test_what_is_no_settings_file_is_one_sentence(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(NotChanged) as refused:
        change(path, Layer.USER, {"agents.turn_limit": 4})
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["{", "[]", "// only words"])
def test_a_broken_file_is_not_mended_by_chance(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(WrongSetting):
        change(path, Layer.USER, {"agents.turn_limit": 4})
    assert path.read_text() == text


def test_what_a_killed_writer_left_is_taken_away_and_never_written_through(tmp_path: Path, path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / ".settings.json.new").symlink_to(elsewhere)
    assert change(path, Layer.USER, {"agents.turn_limit": 4})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["elsewhere", "settings.json"]
    assert elsewhere.read_text() == "mine"
    (tmp_path / ".settings.json.new").mkdir()
    with pytest.raises(NotChanged, match="cannot be written"):
        change(path, Layer.USER, {"agents.turn_limit": 5})


def test_a_change_that_would_make_the_file_too_long_to_be_read_is_refused(path: Path) -> None:
    with pytest.raises(NotChanged, match="would be longer than"):
        change(path, Layer.USER, {"sessions.default_model": "x" * FILE_BYTES})
    assert path.read_text() == TEXT


@pytest.mark.parametrize("name", ["nowhere/at/all", "settings.json", "x" * 300])
def test_no_project_is_made_where_there_is_none(path: Path, name: str) -> None:
    project = path.parent / name
    with pytest.raises(NotChanged, match="is not a directory"):
        change(project / ".claude/settings.json", Layer.PROJECT, {"sessions.default_model": "opus"})
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", ".", "a.b", "\0", "a b", "x" * 1_000])
def test_what_no_feature_can_be_called_is_no_setting(name: str) -> None:
    with pytest.raises(WrongSetting, match="There is no setting feature_flags"):
        value_of(f"feature_flags.{name}", "true")


def test_a_key_of_any_length_is_refused_in_one_short_sentence() -> None:
    with pytest.raises(WrongSetting, match=r"There is no setting daemon\.loglog") as refused:
        setting_of("daemon." + "log" * 1_000_000)
    assert len(str(refused.value)) < 200


def test_a_project_is_given_only_what_is_for_projects(path: Path) -> None:
    with pytest.raises(WrongSetting, match="cannot be set by a project"):
        change(path, Layer.PROJECT, {"notify.command": ["/bin/evil"]})
    assert change(path, Layer.PROJECT, {"sessions.default_model": "opus"})


def test_words_mean_what_the_setting_is() -> None:
    assert value_of("agents.turn_limit", "3") == 3
    assert value_of("sessions.default_model", "3") == "3"
    assert value_of("agents.hang_after", "90s") == "90s"
    assert value_of("feature_flags.a", "true") is True
    for key, word in (("feature_flags.a", "1"), ("agents.turn_limit", "x"), ("agents.turn", "1")):
        with pytest.raises(WrongSetting):
            value_of(key, word)
    with pytest.raises(WrongSetting, match="betcode config edit"):
        setting_of("permissions.deny")
