"""The options of `betcode run`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.run.on_ask import ask_policy, time_limit_s
from betcode.cli.session.budget_options import add_budget_options
from betcode.cli.session.new_session_options import add_new_session

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_run(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    run = command(commands, "run", "run one turn and print the answer", "run.command:run")
    run.add_argument("prompt", nargs="?", help="message to the agent; read from stdin if omitted or -")
    run.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        help="read the prompt from FILE (- for stdin); appended if PROMPT is also given. Piped stdin is appended too",
    )
    run.add_argument("-s", "--session", metavar="ID", help="continue this session instead of creating one")
    run.add_argument(
        "-c", "--continue", action="store_true", help="continue the newest open session of the directory or worktree"
    )
    run.add_argument(
        "-a", "--attach", metavar="FILE", action="append", help="send this file with the prompt; may be repeated"
    )
    add_new_session(run)
    add_budget_options(run, "limits of a new session")
    run.add_argument(
        "--on-ask",
        type=ask_policy,
        metavar="deny|park|wait=TIME",
        help="what to do when the agent needs permission: deny, park (exit and leave it pending), or wait=TIME (wait, "
        "then park). Default: ask on a terminal, otherwise deny",
    )
    run.add_argument(
        "--timeout",
        type=time_limit_s,
        metavar="TIME",
        help='stop the turn after this time, such as "90s" or "10m", and exit with 124',
    )
    run.add_argument("-o", "--output", choices=["text", "json", "stream-json"], default="text", help="output format")
