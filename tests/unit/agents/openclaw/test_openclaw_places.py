"""Which token is shown to which gateway, and what a person's own configuration is read for."""

import json
import stat
from pathlib import Path

import pytest

from betcode.agents.openclaw.json5 import read_json5
from betcode.agents.openclaw.paths import GatewayPaths, find_token, make_token, own_config, users_config

_JSON5 = """
// a comment
{ gateway: {mode: 'local', port: 18789, /* another */ auth: {mode:"token", token: 'it\\'s "mine"',},},
  numbers: [1, +2, .5, 3., -4e2,], words: [true, false, null], "quoted": 'http://x//y', }
"""


def test_what_people_write_is_read() -> None:
    read = read_json5(_JSON5)
    assert read["gateway"]["auth"]["token"] == 'it\'s "mine"'
    assert read["numbers"] == [1, 2, 0.5, 3.0, -400.0]
    assert read["words"] == [True, False, None]
    assert read["quoted"] == "http://x//y"
    assert read_json5(json.dumps({"a": ["{", "//"]})) == {"a": ["{", "//"]}


@pytest.mark.parametrize("text", ["", "{", "{a:}", "{a b}", "'x", "{'a': `b`}", "[" * 100_000, "{a: 1} {"])
def test_what_cannot_be_read_is_an_error_and_no_guess(text: str) -> None:
    with pytest.raises(ValueError):
        read_json5(text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text("{gateway: {auth: {token: 'theirs'}}, models: {a: 1}}")
    return tmp_path


def test_a_token_is_shown_to_the_gateway_it_is_for_and_to_no_other(home: Path) -> None:
    environ, own = {"HOME": str(home)}, home / "token"
    ours = make_token(own)
    assert find_token("ws://127.0.0.1:18789", None, own, environ) == "theirs"
    assert find_token("ws://localhost:18790", None, own, environ) == ours
    assert find_token("wss://gateway.example:18789", None, own, environ) == ""
    assert find_token("wss://gateway.example", None, own, environ | {"OPENCLAW_GATEWAY_TOKEN": "said"}) == "said"
    assert find_token("ws://127.0.0.1:18789", own, own, environ | {"OPENCLAW_GATEWAY_TOKEN": "said"}) == ours
    with pytest.raises(OSError):
        find_token("ws://127.0.0.1:18789", home / "nowhere", own, environ)


@pytest.mark.parametrize("text", ["", "\n", "two\nlines", "é", "x" * 5000])
def test_a_file_that_holds_no_token_is_not_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ValueError):
        find_token("ws://127.0.0.1:1", tmp_path / "token", None, {})


def test_a_token_is_made_once_and_private(tmp_path: Path) -> None:
    made = make_token(tmp_path / "token")
    assert make_token(tmp_path / "token") == made
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_a_gateway_of_ours_has_the_persons_models_and_none_of_the_rest(home: Path) -> None:
    users = users_config({"HOME": str(home)}) | {"channels": {"telegram": {}}, "agents": {"defaults": {"model": "m"}}}
    config = json.loads(own_config(18790, "ours", GatewayPaths(home / "state"), users))
    assert config["models"] == {"a": 1}
    assert config["agents"]["defaults"]["model"] == "m"
    assert config["gateway"]["auth"] == {"mode": "token", "token": "ours"}
    assert "channels" not in config
    assert users_config({"HOME": str(home / "nobody")}) == {}
