"""How long prompts wait and who is told of them, as people write it."""

import json
from pathlib import Path

import pytest

from betcode.config.load import WrongSetting, load_settings


def read(directory: Path, values: object) -> object:
    (directory / "settings.json").write_text(json.dumps(values))
    return load_settings(directory)


@pytest.mark.behaviour("permission.ttl.default", "permission.reminder.configured")
def test_a_prompt_waits_a_week_with_reminders_after_an_hour_and_a_day(tmp_path: Path) -> None:
    engine = load_settings(tmp_path).settings.engine
    assert engine.permission_ttl_s == 7 * 86400
    assert engine.reminder_intervals_s == (3600, 86400)
    assert (engine.extend_on_activity, engine.extend_on) == (True, "activity")


@pytest.mark.behaviour("permission.ttl.units")
@pytest.mark.parametrize(("text", "seconds"), [("1h", 3600), ("6h", 21600), ("1d", 86400), ("30d", 2592000)])
def test_the_time_may_be_anything_from_an_hour_to_a_month(tmp_path: Path, text: str, seconds: float) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"permissions": {"default_ttl": text}}))
    assert load_settings(tmp_path).settings.engine.permission_ttl_s == seconds


@pytest.mark.behaviour("permission.ttl.range")
@pytest.mark.parametrize(
    ("permissions", "says"),
    [
        ({"default_ttl": "59m"}, "default_ttl must be from 1h to 30d, not 59m"),
        ({"default_ttl": 0}, "default_ttl must be from 1h to 30d, not 0s"),
        ({"default_ttl": "31d"}, "default_ttl must be from 1h to 30d, not 31d"),
        ({"default_ttl": "2d", "max_ttl": "1d"}, "default_ttl must be from 1h to 1d, not 2d"),
        ({"min_ttl": "1m"}, 'from 1h to 30d, not "1m"'),
        ({"max_ttl": "60d"}, 'from 1h to 30d, not "60d"'),
        ({"extend_on_activity": "yes"}, "must be true or false"),
        ({"extend_on": "anything"}, '"activity" or "human"'),
        ({"reminder_intervals": ["24h", "1h"]}, "longer than the one before"),
        ({"reminder_intervals": ["0s"]}, "longer than the one before"),
        ({"reminder_intervals": "1h"}, "a list"),
    ],
)
def test_a_wrong_time_is_refused_with_one_sentence(tmp_path: Path, permissions: object, says: str) -> None:
    with pytest.raises(WrongSetting) as wrong:
        read(tmp_path, {"permissions": permissions})
    assert says in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(
    ("notify", "says"),
    [
        ({"command": "echo hello"}, "begins with the absolute path of a program"),
        ({"command": ["echo"]}, "absolute path"),
        ({"webhook": {"url": "https://example.com/hook"}}, "needs notify.webhook.secret_file"),
        ({"webhook": {"secret_file": "key"}}, "absolute path of a file"),
        ({"on": ["ask", "always"]}, '"ask", "reminder" and "expired"'),
        ({"desktop": 1}, "true or false"),
    ],
)
def test_a_wrong_notifier_is_refused_with_one_sentence(tmp_path: Path, notify: object, says: str) -> None:
    with pytest.raises(WrongSetting) as wrong:
        read(tmp_path, {"notify": notify})
    assert says in str(wrong.value)


@pytest.mark.parametrize("url", ["ftp://example.com/s3cret", "https://me:s3cret@example.com/", "https:///s3cret", 3])
def test_a_wrong_web_address_is_refused_and_not_repeated(tmp_path: Path, url: object) -> None:
    with pytest.raises(WrongSetting) as wrong:
        read(tmp_path, {"notify": {"webhook": {"url": url, "secret_file": "/key"}}})
    assert "an address such as" in str(wrong.value)
    assert "s3cret" not in str(wrong.value)
