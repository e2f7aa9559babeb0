"""Completion as shells ask for it, with a daemon that knows sessions and prompts."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.daemon.asking_commands import asking_shell, parked
from support.patience import PATIENCE_S
from support.plugins.requirements import program
from support.processes.command import Shell, Terminal
from support.processes.command_server import Calling, calling

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Place:
    here: Shell
    call: Calling
    session: str
    prompt: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with asking_shell(tmp_path_factory.mktemp("completion")) as here:
        session, prompt = parked(here, 'use Bash {"command": "make tea"}')
        here.run("session", "rename", session, "tea-time")
        (here.work / "a-file.txt").write_text("")
        (here.work / "a-directory").mkdir()
        command = here.daemon.root / "bin" / "betcode"
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m betcode "$@"\n')
        command.chmod(0o755)
        here.environment["PATH"] = f"{command.parent}:{here.environment['PATH']}"
        with calling(here.environment, here.work) as call:
            yield Place(here, call, session, prompt)


def asked(place: Place, *words: str) -> list[str]:
    return place.call(["--complete", *words]).stdout.splitlines()


def script(place: Place, shell: str) -> str:
    return place.call(["completion", shell]).stdout


def in_bash(place: Place, *words: str) -> list[str]:
    typed = " ".join(f"'{word}'" for word in words)
    asking = f"{script(place, 'bash')}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _betcode\n"
    return ran(place.here, [program("bash"), "-c", asking + 'printf "%s\\n" "${COMPREPLY[@]}"'])


def in_fish(place: Place, line: str) -> list[str]:
    asking = f"{script(place, 'fish')}\ncomplete -C '{line}'"
    return ran(place.here, [program("fish"), "--no-config", "-c", asking])


def ran(here: Shell, argv: list[str]) -> list[str]:
    done = subprocess.run(argv, env=here.environment, cwd=here.work, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_sessions_are_offered_with_descriptions(place: Place) -> None:
    short = place.session[:13]
    [line] = asked(place, "session", "show", "")
    word, _, says = line.partition("\t")
    assert word == short
    assert says.endswith("tea-time")
    assert asked(place, "attach", "tea")[0].startswith("tea-time\t")
    assert asked(place, "run", "--session", place.session[:20])[0].startswith(f"{place.session}\t")
    assert asked(place, "session", "rename", short, "") == []


def test_prompts_and_models_are_offered(place: Place) -> None:
    assert [line.split("\t")[0] for line in asked(place, "permission", "answer", "")] == [place.prompt]
    assert "make tea" in asked(place, "permission", "answer", "")[0]
    assert {"opus", "sonnet"} <= set(asked(place, "run", "--model", ""))


def test_without_a_daemon_nothing_is_started_or_printed(place: Place, tmp_path: Path) -> None:
    done = place.here.run("--complete", "session", "show", "", BETCODE_STATE_DIR=str(tmp_path / "state"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "state").exists()
    dead = tmp_path / "dead.sock"
    dead.touch()
    assert asked(place, "session", "show", "--socket", str(dead), "") == []


def test_a_daemon_that_hangs_is_not_waited_for(place: Place) -> None:
    place.here.daemon_signal("STOP")
    try:
        assert asked(place, "session", "show", "") == []
    finally:
        place.here.daemon_signal("CONT")


def test_bash_completes_words_ids_and_files(place: Place) -> None:
    assert in_bash(place, "betcode", "daemon", "sta") == ["start", "status"]
    assert in_bash(place, "betcode", "session", "show", "") == [place.session[:13]]
    assert in_bash(place, "betcode", "run", "--attach", "a-f") == ["a-file.txt"]
    assert in_bash(place, "betcode", "run", "--cwd", "a-") == ["a-directory"]
    assert in_bash(place, "betcode", "run", "--output", "=", "j") == ["json"]
    assert in_bash(place, "betcode", "run", "whatever", "") == [""]


def test_bash_gets_no_name_that_is_more_than_a_word(place: Place, tmp_path: Path) -> None:
    heads = tmp_path / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    for name in ("a;touch pwned", "b$(touch pwned)", "c`touch pwned`", "d'e"):
        (heads / name).touch()
    typed = "COMP_WORDS=(betcode worktree create ''); COMP_CWORD=3; _betcode; eval printf '%s/' \"${COMPREPLY[@]}\""
    asking = f"{script(place, 'bash')}\ncd '{tmp_path}'; {typed}"
    assert ran(place.here, [program("bash"), "-c", asking]) == ["a;touch pwned/b$(touch pwned)/c`touch pwned`/d'e/"]
    assert not (tmp_path / "pwned").exists()


def test_fish_completes_words_ids_and_files(place: Place) -> None:
    assert [line.split("\t")[0] for line in in_fish(place, "betcode daemon sta")] == ["start", "status"]
    [line] = in_fish(place, "betcode session show ")
    assert line.startswith(f"{place.session[:13]}\t")
    assert in_fish(place, "betcode run --attach a-f") == ["a-file.txt"]
    assert [line.split("\t")[0] for line in in_fish(place, "betcode run --cwd a-")] == ["a-directory/"]
    assert [line.split("\t")[0] for line in in_fish(place, "betcode ru")] == ["run"]


def test_zsh_completes_words_ids_and_files(place: Place) -> None:
    here = place.here
    zsh = program("zsh")
    (here.work / "_betcode").write_text(script(place, "zsh"))
    person = Terminal([zsh, "-f", "-i"], here.environment | {"TERM": "dumb", "PS1": "% "}, here.work)
    try:
        person.type("fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; unsetopt list_beep; echo set''up\n")
        person.expect("setup")
        for typed, completed in (
            ("echo betcode; betcode doc\t", "betcode doctor "),
            ("\x15betcode session show 0\t", place.session[:13]),
            ("\x15betcode run --attach a-f\t", "a-file.txt"),
            ("\x15betcode permission answer \t", place.prompt),
        ):
            person.type(typed)
            person.expect(completed)
    finally:
        person.close()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_one_that_its_shell_understands(place: Place, shell: str) -> None:
    path = place.here.work / f"script.{shell}"
    path.write_text(script(place, shell))
    assert ran(place.here, [program(shell), "-n", str(path)]) == []


def test_the_keys_of_a_kind_of_agent_are_completed(place: Place) -> None:
    found = asked(place, "run", "--provider", "codex", "--config", "")
    assert [line.partition("\t")[0] for line in found] == ["effort=", "sandbox="]
    assert asked(place, "--provider", "demo", "--config", "") == []
    assert any(line.startswith("profile=\t") for line in asked(place, "session", "new", "--config", "pro"))
