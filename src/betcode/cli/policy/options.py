"""The options of `betcode policy`."""

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.core.argument_types import count
from betcode.config.units import NotUnderstood, duration_s

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_policy(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "policy", "check and list permission rules, and trust projects")
    check = command(verbs, "check", "show whether a tool call would be allowed, and why", "policy.commands:check")
    check.add_argument(
        "use", nargs="?", metavar="TOOL(WHAT)", help='the tool call, such as "Bash(git push)" or "Edit(src/a.py)"'
    )
    check.add_argument("--tool", metavar="NAME", help="name of the tool, with --input instead of TOOL(WHAT)")
    check.add_argument("--input", metavar="JSON", help="with --tool: the tool's input, as the agent sends it")
    check.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    check.add_argument("-s", "--session", metavar="ID", help="for this session, with its grants")
    listing = command(verbs, "list", "list the rules in force and the file of each", "policy.list:list_rules")
    listing.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    listing.add_argument("-s", "--session", metavar="ID", help="for this session")
    attempt = command(verbs, "try", "show what other rules would have decided in the past", "policy.dry_run:try_rules")
    attempt.add_argument("file", metavar="FILE", help="a settings file, whose rules replace all current rules")
    attempt.add_argument(
        "--since", type=_since_s, default=_since_s("30d"), metavar="TIME", help='how far back, such as "12h" (30d)'
    )
    attempt.add_argument("--limit", type=count, default=50, metavar="N", help="show at most N tool calls (50)")
    for verb, says in (
        ("trust", "load a project's hooks, MCP servers, environment, plugins, allow rules and worktree setups"),
        ("untrust", "no longer trust a project"),
    ):
        trust = command(verbs, verb, says, f"policy.commands:{verb}")
        trust.add_argument("cwd", metavar="DIR", help="the project's directory")
    command(verbs, "trusted", "list trusted projects", "policy.commands:list_trusted")


def _since_s(text: str) -> int:
    try:
        return math.ceil(duration_s(text))
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None
