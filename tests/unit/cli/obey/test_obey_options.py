"""Values, messages and the socket from the command line of obey."""

import json
from pathlib import Path

import pytest

from betcode.cli.obey.failure import ObeyExit, ObeyFailed
from betcode.cli.obey.input_values import pairs_of
from betcode.cli.obey.options import choose_socket
from betcode.config.paths import choose_paths


def test_settings_of_a_provider_are_an_object_or_come_one_by_one() -> None:
    given = ['{"profile": "opencode", "turns": 7, "on": true}', "profile=gemini", "command=a=b"]
    assert pairs_of("--config", given, may_be_json=True) == {
        "profile": "gemini",
        "turns": "7",
        "on": "true",
        "command": "a=b",
    }


@pytest.mark.parametrize("text", ["profile", "=x", "{", '{"a": 1', "[1]"])
def test_other_values_are_refused(text: str) -> None:
    with pytest.raises(ObeyFailed) as failed:
        pairs_of("--config", [text], may_be_json=True)
    assert failed.value.exit_code is ObeyExit.USAGE
    assert failed.value.hint


def test_a_variable_is_never_an_object() -> None:
    with pytest.raises(ObeyFailed):
        pairs_of("--env", ['{"A": "b"}'], may_be_json=False)
    assert pairs_of("--env", ["{=}"], may_be_json=False) == {"{": "}"}


def test_the_flag_overrides_both_variables_and_they_override_settings(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "BETCODE_STATE_DIR": str(tmp_path / "state"), "BETCODE_CONFIG_DIR": str(tmp_path)}
    paths = choose_paths(environ)
    assert choose_socket("", environ, paths).path == tmp_path / "state" / "obey.sock"
    (tmp_path / "settings.json").write_text(json.dumps({"obey": {"socket": "/run/set.sock"}}))
    settled = choose_socket("", environ, paths)
    assert (settled.path, settled.is_usual) == (Path("/run/set.sock"), True)
    environ["OBEY_SOCKET"] = "/run/second.sock"
    assert choose_socket("", environ, paths).path == Path("/run/second.sock")
    environ["OBEY_DAEMON_SOCKET"] = "/run/first.sock"
    chosen = choose_socket("", environ, paths)
    assert (chosen.path, chosen.is_usual) == (Path("/run/first.sock"), False)
    assert choose_socket("/run/flag.sock", environ, paths).path == Path("/run/flag.sock")
