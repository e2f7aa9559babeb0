"""settings.json: what people write, and what they wrote wrongly."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.config.load import WrongSetting, load_settings
from betcode.config.schema import SETTINGS, Setting
from betcode.config.settings import Settings


def written(directory: Path, values: object) -> Path:
    (directory / "settings.json").write_text(json.dumps(values))
    return directory


@pytest.mark.behaviour("recovery.hang.timeout")
def test_no_file_is_the_defaults(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path)
    assert loaded.settings == Settings()
    assert (loaded.settings.engine.turn_limit, loaded.settings.engine.queue_limit) == (5, 50)
    assert loaded.settings.engine.idle_retire_s == 600
    assert loaded.settings.engine.hang_after_s == 300
    assert loaded.settings.obey.stop_timeout_s == 30


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "settings.json")
    with pytest.raises(WrongSetting, match="not a regular file"):
        load_settings(tmp_path)


def test_durations_and_sizes_are_read_as_people_write_them(tmp_path: Path) -> None:
    agents = {"turn_limit": 2, "idle_retire": "90s", "memory_limit": "2GB", "frame_limit": "1MiB"}
    engine = load_settings(written(tmp_path, {"agents": agents})).settings.engine
    assert engine.turn_limit == 2
    assert engine.idle_retire_s == 90
    assert engine.agent_memory_limit_bytes == 2_000_000_000
    assert engine.frame_limit_bytes == 1024 * 1024


def test_a_key_may_be_written_with_dots(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, {"agents.turn_limit": 3})).settings.engine.turn_limit == 3


def test_permission_rules_stand_in_the_same_file_and_are_no_settings(tmp_path: Path) -> None:
    permissions = {"allow": ["Bash(git *)"], "deny": [], "ask": [], "screen_all": "always", "denny": []}
    loaded = load_settings(written(tmp_path, {"permissions": permissions}))
    assert loaded.settings.engine.screen_all == "always"
    assert ["permissions.denny" in warning for warning in loaded.warnings] == [True]


def test_comments_and_trailing_commas_are_read_as_in_other_settings(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{ // mine\n  "agents": {"turn_limit": 3,}, /* the rest stays */\n}')
    loaded = load_settings(tmp_path)
    assert (loaded.settings.engine.turn_limit, loaded.warnings) == (3, ())


def test_an_unknown_key_is_a_warning_with_a_suggestion(tmp_path: Path) -> None:
    loaded = load_settings(written(tmp_path, {"agents": {"turn_limits": 3}}))
    assert loaded.settings == Settings()
    assert len(loaded.warnings) == 1
    assert "agents.turn_limits" in loaded.warnings[0]
    assert "did you mean agents.turn_limit?" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("agents.turn_limit", 0, "from 1 to 1000"),
        ("agents.turn_limit", "many", "whole number"),
        ("agents.turn_limit", True, "whole number"),
        ("agents.idle_retire", "soon", '"10m"'),
        ("cancel.interrupt", "11m", "from 0s to 10m"),
        ("cancel.sigint", "soon", '"10m"'),
        ("agents.hang_after", "0s", "at least 1s"),
        ("agents.memory_limit", "2 parsecs", '"2GB"'),
        ("agents.memory_limit", -1, '"2GB"'),
        ("daemon.durability", "most", '"normal" or "full"'),
        ("environment.allow", "GH_TOKEN", "list of names"),
        ("agents.default_provider", 3, '"" or "acp"'),
        ("agents.default_provider", "gpt", '"claude" or'),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_it(tmp_path: Path, key: str, value: object, says: str) -> None:
    with pytest.raises(WrongSetting) as wrong:
        load_settings(written(tmp_path, {key: value}))
    assert key in str(wrong.value)
    assert says in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "[" * 100_000])
def test_what_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(WrongSetting):
        load_settings(tmp_path)


def test_names_to_inherit_are_a_list(tmp_path: Path) -> None:
    loaded = load_settings(written(tmp_path, {"environment": {"allow": ["GH_TOKEN"]}}))
    assert loaded.settings.environment_allow == ("GH_TOKEN",)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_has_its_default_in_the_field_it_names(setting: Setting) -> None:
    assert setting.value_in(Settings()) == setting.default


def test_no_two_settings_have_the_same_variable() -> None:
    assert len({setting.environment_name for setting in SETTINGS.values()}) == len(SETTINGS)


@pytest.mark.parametrize(("name", "meant"), [("alow", "allow"), ("denny", "deny"), ("asks", "ask")])
def test_a_misspelt_list_of_rules_is_recognised(tmp_path: Path, name: str, meant: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"permissions": {name: ["Bash(ls)"]}}))
    assert (
        load_settings(tmp_path)
        .warnings[0]
        .endswith(f"unknown setting permissions.{name}; did you mean permissions.{meant}?")
    )


def test_rules_beside_permissions_are_told_where_they_belong(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"deny": ["Bash"]}')
    assert load_settings(tmp_path).warnings[0].endswith("unknown setting deny; did you mean permissions.deny?")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("agents.hang_after", "9" * 400 + "s", "must be a duration of at most 36500d"),
        ("sessions.history_keep", "40000d", "must be a duration of at most 36500d"),
        ("cancel.term", "9" * 400 + "d", "from 0s to 10m"),
        ("agents.memory_limit", "9" * 400 + "GB", "must be a size of at most"),
        ("agents.warm_limit", 2**40, "must be a whole number of at most"),
    ],
)
def test_what_nobody_can_count_with_is_one_sentence(tmp_path: Path, key: str, value: object, says: str) -> None:
    with pytest.raises(WrongSetting, match=says):
        load_settings(written(tmp_path, {key: value}))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000])
def test_a_variable_may_hold_anything(tmp_path: Path, text: str) -> None:
    with pytest.raises(WrongSetting, match=r"^BETCODE_ENVIRONMENT_ALLOW: environment.allow must be a list of names"):
        load_settings(tmp_path, {"BETCODE_ENVIRONMENT_ALLOW": text})
