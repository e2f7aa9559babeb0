"""Lists fit the terminal, with names and commands in any script."""

import json
import sys
from collections.abc import Iterator

import pytest

from betcode.wording.terminal_text import columns
from support.git.repositories import git, make_repository
from support.processes.command import Shell, Terminal, shell

WIDE = "修复登录页面的错误🧪 and more of it, as people write — מבחן ארוך"
LISTS = [
    "session list",
    "worktree list",
    "worktree prune --older-than 30d",
    "permission list",
    "policy list",
    "policy trusted",
    "audit list",
    "config mcp",
    "features",
    "db usage",
    "search login",
    "config show --origin",
]
ALL_AT_ONCE = """
import os, sys
from betcode.cli.core.dispatch import dispatch
sys.stderr = open(os.devnull, "w")
for words in sys.argv[1:]:
    code = dispatch(words.split())
    print(f"=== {words}: {code:d}", flush=True)
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("tables")
    allow = [f"Bash(echo {WIDE} {number}:*)" for number in range(3)]
    with shell(root, settings={"permissions": {"allow": allow}}) as commands:
        commands.work = make_repository(root / f"商店-{'very-' * 20}long")
        (commands.work / "mcp").write_text(json.dumps([{"name": "服务器" * 9, "status": "connected"}]))
        session = commands.json("run", "--json", f"say login {WIDE}")["session_id"]
        commands.run("session", "rename", session, f"login {WIDE}")
        commands.run("run", "--on-ask", "park", f"say {WIDE}\ntool")
        commands.run("policy", "trust", ".")
        git(commands.work, "branch", "修复登录页面的错误-修复登录页面的错误-修复登录页面的错误")
        git(
            commands.work,
            "worktree",
            "add",
            "-q",
            str(root / "还有一个很长的名字"),
            "修复登录页面的错误-修复登录页面的错误-修复登录页面的错误",
        )
        yield commands


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_of_a_list_is_wider_than_the_terminal(here: Shell, width: int) -> None:
    sized = ["/bin/sh", "-c", f'stty cols {width} rows 50; exec "$@"', "sh"]
    person = Terminal([*sized, sys.executable, "-c", ALL_AT_ONCE, *LISTS], here.environment, here.work)
    try:
        for words in LISTS:
            shown = person.expect(f"=== {words}: 0").splitlines()
            assert any(shown), words
            assert [line for line in shown if columns(line) > width] == [], words
    finally:
        person.close()


def test_a_pipe_has_all_columns(here: Shell) -> None:
    heading = here.run("session", "list").stdout.splitlines()[0]
    assert {"MESSAGES", "COST", "AGENT"} <= set(heading.split())
