"""How the agent is started, and what it is told by flags and environment."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import AgentUnavailable
from betcode.domain.ports import Provider
from betcode.domain.runs.launch import Forbidden, Launch, LaunchContext, OnlyRules
from betcode.providers.claude.provider import ClaudeProvider
from support.recordings.claude import SESSION

ID = "0192d3a0-0000-7000-8000-000000000001"


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def context(*, resume: bool = False, continue_turn: bool = False, **environment: str) -> LaunchContext:
    return LaunchContext(ID, resume, continue_turn, {"PATH": "/usr/bin", **environment})


def launched(binary: Path, with_context: LaunchContext, **fields: object) -> Launch:
    return ClaudeProvider(binary).launch(replace(SESSION, **fields), with_context)  # type: ignore[arg-type]


@pytest.mark.behaviour("launch.flags", "launch.prompt-on-stdin", "launch.no-agent-engine")
def test_the_agent_speaks_stream_json_on_both_pipes(binary: Path) -> None:
    launch = launched(binary, context())
    assert launch.argv[0] == str(binary)
    flags = " ".join(launch.argv[1:])
    for wanted in (
        "-p --",
        "--output-format stream-json",
        "--input-format stream-json",
        "--permission-prompt-tool stdio",
        "--include-partial-messages",
        "--verbose",
    ):
        assert wanted in flags
    assert launch.argv[launch.argv.index("-p") + 1].startswith("--")  # no prompt behind it
    assert launch.cwd == Path(SESSION.working_directory)


@pytest.mark.behaviour("launch.session-id-first")
def test_the_first_launch_names_the_session(binary: Path) -> None:
    argv = launched(binary, context()).argv
    assert f"--session-id={ID}" in argv
    assert not [flag for flag in argv if flag.startswith("--resume")]


@pytest.mark.behaviour("launch.resume-later")
def test_a_later_launch_resumes_the_agents_conversation(binary: Path) -> None:
    argv = launched(binary, context(resume=True)).argv
    assert f"--resume={ID}" in argv
    assert not [flag for flag in argv if flag.startswith("--session-id")]


@pytest.mark.behaviour("launch.allowed-tools")
def test_allowed_tools_are_one_value(binary: Path) -> None:
    argv = launched(binary, context(), allowed_tools=("Bash(git *)", "Read")).argv
    assert "--allowedTools=Bash(git *),Read" in argv


def test_model_and_plan_mode_take_effect_and_stay_in_force(binary: Path) -> None:
    for resume in (False, True):
        argv = launched(binary, context(resume=resume), model="sonnet", plan_mode=True).argv
        assert "--model=sonnet" in argv
        assert "--permission-mode=plan" in argv


def test_a_model_that_a_person_chose_is_passed_to_the_next_process(binary: Path) -> None:
    chosen = replace(context(resume=True), chosen={"model": "haiku", "effort": "high"})
    argv = launched(binary, chosen, model="sonnet").argv
    assert [flag for flag in argv if flag.startswith(("--model", "--effort"))] == ["--model=haiku", "--effort=high"]


def test_a_plan_that_was_accepted_is_not_asked_for_again_after_a_resume(binary: Path) -> None:
    left = replace(context(resume=True), plan_mode=False)
    assert "--permission-mode=plan" not in launched(binary, left, plan_mode=True).argv
    entered = replace(context(resume=True), plan_mode=True)
    assert "--permission-mode=plan" in launched(binary, entered).argv


def test_no_value_can_be_read_as_a_flag(binary: Path) -> None:
    argv = launched(binary, context(), model="--dangerously-skip-permissions", allowed_tools=("-x",)).argv
    assert "--dangerously-skip-permissions" not in argv
    assert "-x" not in argv


@pytest.mark.behaviour("launch.environment")
def test_the_environment_is_the_sessions_without_the_mark_of_another_agent(binary: Path) -> None:
    env = launched(binary, context(CLAUDECODE="1", ANTHROPIC_API_KEY="key", LANG="C")).env
    assert env["ANTHROPIC_API_KEY"] == "key"
    assert env["LANG"] == "C"
    assert "CLAUDECODE" not in env
    without = launched(binary, context()).env
    assert "ANTHROPIC_API_KEY" not in without
    assert "CLAUDE_CODE_RESUME_INTERRUPTED_TURN" not in without


def test_the_environment_is_not_shown(binary: Path) -> None:
    assert "secret" not in repr(launched(binary, context(ANTHROPIC_API_KEY="secret")))


def test_a_broken_turn_is_continued(binary: Path) -> None:
    env = launched(binary, context(resume=True, continue_turn=True)).env
    assert env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] == "1"


def test_the_program_is_found_on_the_sessions_path(binary: Path) -> None:
    launch = ClaudeProvider().launch(SESSION, LaunchContext(ID, False, False, {"PATH": str(binary.parent)}))
    assert launch.argv[0] == str(binary)


def test_a_missing_program_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentUnavailable, match="--claude-bin"):
        ClaudeProvider().check({})
    with pytest.raises(AgentUnavailable, match="not an executable file"):
        ClaudeProvider(tmp_path / "nothing").check({})
    unusable = tmp_path / "claude.txt"
    unusable.write_text("")
    with pytest.raises(AgentUnavailable, match="not an executable file"):
        ClaudeProvider(unusable).check({})


def test_a_program_that_is_there_passes_the_check(binary: Path) -> None:
    ClaudeProvider(binary).check({})


def test_it_can_do_what_the_engine_asks_the_table_for() -> None:
    provider: Provider = ClaudeProvider()
    assert provider.name == "claude"
    assert provider.capabilities.resume
    assert provider.capabilities.recognises_repeats


def test_rules_that_forbid_are_handed_over_at_the_start(binary: Path) -> None:
    forbidden = Forbidden(deny=("Bash(rm *)", "Read(.env)", "Bash(rm *)"), ask=("Bash(git push *)",))
    launch = launched(binary, replace(context(), forbidden=forbidden))
    [settings] = [flag for flag in launch.argv if flag.startswith("--settings=")]
    lists = {"deny": ["Bash(rm *)", "Read(.env)"], "ask": ["Bash(git push *)"]}
    assert json.loads(settings.partition("=")[2]) == {"permissions": lists}
    assert launch.files == {}
    assert not [flag for flag in launched(binary, context()).argv if flag.startswith("--settings")]


def test_rules_that_replace_those_of_the_agents_files_are_passed_as_managed_settings(binary: Path) -> None:
    rules = OnlyRules(allow=("Bash(ls)",), ask=("Write",), deny=("Bash(**)",))
    launch = launched(binary, replace(context(), only_rules=rules, forbidden=Forbidden(deny=("Bash(**)",))))
    [settings] = [flag for flag in launch.argv if "settings=" in flag]
    lists = {"allow": ["Bash(ls)"], "ask": ["Write"], "deny": ["Bash(**)"]}
    assert settings.startswith("--managed-settings=")
    assert json.loads(settings.partition("=")[2]) == {"allowManagedPermissionRulesOnly": True, "permissions": lists}


def test_too_many_rules_for_an_argument_do_not_replace_those_of_the_agents_files(binary: Path) -> None:
    rules = OnlyRules(allow=tuple(f"Bash(often{number} *)" for number in range(10_000)))
    launch = launched(binary, replace(context(), only_rules=rules, forbidden=Forbidden(deny=("Bash",))))
    assert [flag.partition("=")[0] for flag in launch.argv if "settings=" in flag] == ["--settings"]


def test_many_rules_are_handed_over_in_a_file_beside_the_journal(binary: Path) -> None:
    forbidden = Forbidden(deny=tuple(f"Bash(never{number} *)" for number in range(10_000)))
    launch = launched(binary, replace(context(), forbidden=forbidden, run_dir=Path("/runs/one")))
    assert "--settings=/runs/one/settings.json" in launch.argv
    assert len(json.loads(launch.files["settings.json"])["permissions"]["deny"]) == 10_000


def test_an_agent_that_is_to_show_every_call_reads_so_before_anything_else(binary: Path) -> None:
    greeting = json.loads(launched(binary, context()).opening)
    assert (greeting["type"], greeting["request"]) == ("control_request", {"subtype": "initialize"})
    opening = json.loads(launched(binary, replace(context(), screens_calls=True)).opening)
    assert (opening["type"], opening["request"]["subtype"]) == ("control_request", "initialize")
    [hook] = opening["request"]["hooks"]["PreToolUse"]
    assert "matcher" not in hook  # every tool
    assert hook["timeout"] == 2_147_483  # the longest that a timer of the agent's can be
