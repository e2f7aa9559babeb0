"""The command line."""

import pytest

from betcode.cli.completion.candidates import candidates
from betcode.cli.core.options import options_from
from betcode.cli.core.parser import build_parser


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (
            [""],
            [
                *("run", "attach", "session", "worktree", "search", "permission", "policy", "audit", "config"),
                *("daemon", "db"),
                *("cassette", "doctor", "version", "features", "providers", "completion"),
            ],
        ),
        (["da"], ["daemon"]),
        (["daemon", "st"], ["start", "stop", "status"]),
        (["session", "list", "--st"], ["--state-dir", "--status"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["run", "x"], []),
        (["run", "--output", ""], ["text", "json", "stream-json"]),
        (["session", "list", "--status", "a"], ["active"]),
        (["session", "list", "--here", "--li"], ["--limit"]),
        (["run", "--cwd", ""], [":dirs"]),
        (["run", "--attach", "x"], [":files"]),
        (["run", "--output=j"], ["--output=json"]),
        (["run", "--output", "=", "j"], ["json"]),
        (["run", "--output", "="], ["text", "json", "stream-json"]),
        (["run", "--provider", "d"], ["demo"]),
        (["--provider", "d"], ["demo"]),
        (["providers", "d"], ["demo"]),
        (["run", "--on-ask", ""], ["deny", "park", "wait="]),
        (["--json", "--socket", "session", "daemon", "res"], ["restart"]),
        (["config", "get", "daemon.auto"], ["daemon.autostart"]),
        (["config", "validate", ""], [":files"]),
        (["completion", "bash", ""], []),
        (["policy", "trust", ""], [":dirs"]),
        (["worktree", "run", "x", "--", ""], [":files"]),
    ],
)
def test_words_are_completed_from_the_command_tree(words: list[str], found: list[str]) -> None:
    assert [word for word, _ in candidates(build_parser(), words)] == found


@pytest.mark.behaviour("exit-code.5")
@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run", "a", "b"],
        ["run", "--output", "xml"],
        ["session"],
        ["session", "list", "--limit", "-1"],
        ["daemon", "fly"],
        ["attach", "one", "two"],
        ["run", "--sess", "x"],
        ["--socket"],
    ],
)
def test_rejected_arguments_exit_with_5(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(arguments)
    assert ended.value.code == 5
    assert capsys.readouterr().err.startswith("betcode: ")


@pytest.mark.parametrize("where", ["before", "after"])
def test_path_options_are_accepted_before_and_after_the_command(where: str) -> None:
    command, place = ["session", "list"], ["--state-dir", "/s", "--json"]
    chosen = build_parser().parse_args([*place, *command] if where == "before" else [*command, *place])
    options = options_from(chosen, {"HOME": "/h", "BETCODE_STATE_DIR": "/other"})
    assert str(options.paths.state_dir) == "/s"
    assert options.as_json


def test_variables_choose_paths_without_a_flag() -> None:
    environ = {
        "BETCODE_STATE_DIR": "/s",
        "BETCODE_CONFIG_DIR": "/c",
        "BETCODE_SOCKET": "/x",
        "BETCODE_CLAUDE_BIN": "/b",
    }
    options = options_from(build_parser().parse_args([]), environ)
    paths = options.paths
    assert (str(paths.state_dir), str(paths.config_dir), str(paths.socket)) == ("/s", "/c", "/x")
    assert options.claude_bin == "/b"
