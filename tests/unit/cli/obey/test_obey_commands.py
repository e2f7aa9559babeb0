"""The command tree of obey: help with examples, and invalid arguments with a hint."""

import importlib
import re
import shlex

import pytest

from betcode.cli.core.arguments import commands_of
from betcode.cli.obey.examples import EXAMPLES
from betcode.cli.obey.failure import HINTS, hint_for
from betcode.cli.obey.names import ACTIVITIES, PROFILES, PROVIDERS, STATUSES
from betcode.cli.obey.parser import build_parser
from betcode.providers.acp.profiles import PROFILES as ACP_PROFILES
from obey.local.v1 import local_pb2 as v1

COMMANDS = dict(commands_of(build_parser()))


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert list(EXAMPLES) == list(COMMANDS)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_examples_that_can_be_typed(words: str) -> None:
    command = COMMANDS[words]
    assert "\nexamples:\n" in command.format_help()
    assert command.description
    for line in EXAMPLES[words].splitlines():
        typed = re.search(r"obey ([^|)&>]*)", re.split(r" {2,}", line.strip())[0])
        assert typed is not None, line
        assert build_parser().parse_args(shlex.split(typed[1])).handler == command.get_default("handler"), line


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_a_function_and_the_options_of_all(words: str) -> None:
    module, _, function = COMMANDS[words].get_default("handler").partition(":")
    assert callable(getattr(importlib.import_module(f"betcode.cli.obey.{module}"), function))
    flags = {flag for action in COMMANDS[words]._actions for flag in action.option_strings}
    assert {"--socket", "--json", "--no-color", "--no-start", "--help"} <= flags


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "session",
        "sessions",
        "session list --status asleep",
        "session create --provider nobody",
        "session create --max-tokens -1",
        "session create --timeout soon",
        "session answer one two perhaps",
        "exec git status",
    ],
)
def test_invalid_arguments_exit_with_2_and_a_hint(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(typed.split())
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("obey: ")
    assert said[1].startswith("Hint: obey")
    assert len(said) == 2


def test_a_provider_has_the_name_of_the_other_command_line_too() -> None:
    def chosen(name: str) -> object:
        return build_parser().parse_args(["session", "create", "--provider", name]).provider

    assert chosen("claude") == chosen("claude-code") == "claude-code"
    assert chosen("openai") == "openai-api"


def test_an_agent_that_is_a_profile_here_is_refused_with_how_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(PROFILES) == set(ACP_PROFILES) - {"generic"}
    for name in PROFILES:
        with pytest.raises(SystemExit):
            build_parser().parse_args(["session", "create", "--provider", name])
        assert f"--provider acp --config profile={name}" in capsys.readouterr().err


def test_names_have_the_numbers_of_the_api() -> None:
    for names, prefix, numbers in (
        (PROVIDERS, "SESSION_PROVIDER_", v1.SessionProvider.items()),
        (STATUSES, "SESSION_STATUS_", v1.SessionStatus.items()),
        (ACTIVITIES, "ACTIVITY_TYPE_", v1.ActivityType.items()),
    ):
        spelled = {name.removeprefix(prefix).lower().replace("_", "-"): number for name, number in numbers if number}
        assert {name.replace("_", "-"): number for name, number in names.items()} == spelled


def test_every_code_of_the_registry_has_a_hint() -> None:
    numbers = (2000, 2001, 2002, 2003, 2004, 2005, 2010, 2011, 2012, 2013, 2014, 2020, 2021, 2030, 2031, 2032)
    assert {code for code in HINTS if code.startswith("OBEY")} == {f"OBEY-{number}" for number in numbers}


def test_an_error_without_a_number_has_the_hint_of_its_kind() -> None:
    assert "logs" in hint_for("OBEY-2000", "INTERNAL") == hint_for("OBEY-2000", "")
    assert hint_for("OBEY-2000", "INVALID_REQUEST") == ""
    assert "permission list" in hint_for("OBEY-2000", "PERMISSION_NOT_FOUND")
    assert "answer it yourself" in hint_for("OBEY-2000", "ANSWER_REFUSED")
    assert hint_for("OBEY-2001", "CAMPAIGN_NOT_FOUND") == HINTS["OBEY-2001"]
