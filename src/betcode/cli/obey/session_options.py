"""The verbs of `obey session` and their options."""

import argparse
import math
from typing import TYPE_CHECKING, Protocol

from betcode.cli.obey.dynamic_completion import CampaignWord, SessionWord
from betcode.cli.obey.names import ALSO, PROFILES, PROVIDERS, STATUSES
from betcode.config.units import NotUnderstood, duration_s

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

_ID = "id of a session, the beginning of one, or its name"
_MOST_TOKENS = 2**63 - 1


class Command(Protocol):
    def __call__(self, commands: "Commands[Parser]", name: str, says: str, handler: str) -> "Parser": ...


def add_session(verbs: "Commands[Parser]", command: Command) -> None:
    _add_create(command(verbs, "create", "make a session of a campaign and start its agent", "session_create:create"))
    listing = command(verbs, "list", "list the sessions that live, newest first", "session_list:list_sessions")
    _add_campaign(listing, "only those of this campaign")
    listing.add_argument("-a", "--all", action="store_true", help="also those that stopped or failed")
    listing.add_argument(
        "--status", action="append", choices=list(STATUSES), help="only these, be they over; may be repeated"
    )
    listing.add_argument("--provider", type=provider, metavar=_shown(), help="only those of this kind of agent")
    send = command(verbs, "send", "send a message and print the reply, alone, on stdout", "session_send:send")
    _add_id(send)
    send.add_argument("message", nargs="?", metavar="MESSAGE", help="what to say; - or nothing: read from stdin")
    send.add_argument(
        "--on-ask",
        choices=["deny", "wait"],
        help="when the agent asks for permission: deny and exit with 1, or wait for an answer from another terminal "
        "(default: wait on a terminal, otherwise deny)",
    )
    watch = command(verbs, "watch", "show what happens in a session, or in all, as it happens", "session_watch:watch")
    _add_id(watch, is_optional=True)
    stop = command(verbs, "stop", "stop a session when it has done the work at hand", "session_commands:stop")
    _add_id(stop)
    stop.add_argument("--force", action="store_true", help="at once, whatever it is doing")
    restart = command(verbs, "restart", "stop a session and begin it again as it was made", "session_commands:restart")
    _add_id(restart)
    _add_config(restart, "changed settings of the provider")
    info = command(verbs, "info", "show what is known of a session", "session_commands:info")
    _add_id(info)
    answer = command(verbs, "answer", "answer what a session's agent asks", "session_commands:answer")
    _add_id(answer)
    answer.add_argument("prompt", metavar="PROMPT", help="id of the prompt, or the beginning of it")
    answer.add_argument("decision", choices=["allow", "deny"])
    answer.add_argument(
        "--for-session", action="store_true", help="with allow: also allow similar calls for the rest of the session"
    )
    answer.add_argument("-m", "--message", metavar="TEXT", help="with deny: what to tell the agent")


def _add_create(create: "Parser") -> None:
    _add_campaign(create, "its id, the beginning of one, or its name (that around the current directory)")
    create.add_argument(
        "-p",
        "--provider",
        type=provider,
        default="claude-code",
        metavar=_shown(),
        help="which kind of agent (claude-code)",
    )
    create.add_argument("--model", metavar="MODEL", help="the model it is launched with (the provider's own)")
    create.add_argument("-n", "--name", "--agent", dest="name", metavar="NAME", help="what it is called")
    create.add_argument("--festival", metavar="ID", help="the festival that it works for")
    create.add_argument("--task", metavar="ID", help="the task that it works on")
    create.add_argument("--workdir", metavar="DIR", help="where it works, inside of the campaign (its root)")
    _add_config(create, "settings of the provider")
    create.add_argument(
        "-e", "--env", metavar="NAME=VALUE", action="append", help="a variable of its environment; may be repeated"
    )
    create.add_argument(
        "--max-tokens", type=tokens, default=0, metavar="N", help="how many tokens it may use (no limit)"
    )
    create.add_argument(
        "--timeout", type=seconds, default=0.0, metavar="TIME", help='how long it may live, such as "90m" (no limit)'
    )
    create.add_argument("-m", "--message", metavar="TEXT", help="what to say to it at once; - reads it from stdin")


def _add_campaign(parser: "Parser", says: str) -> None:
    parser.add_argument("-c", "--campaign", action=CampaignWord, metavar="CAMPAIGN", help=says)


def _add_id(parser: "Parser", *, is_optional: bool = False) -> None:
    says = f"{_ID}; none: all sessions" if is_optional else _ID
    parser.add_argument("session", nargs="?" if is_optional else None, action=SessionWord, metavar="ID", help=says)
    _add_campaign(parser, "only sessions of this campaign are meant")


def _add_config(parser: "Parser", says: str) -> None:
    parser.add_argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        help=f"{says}, one by one or as a JSON object; may be repeated",
    )


def _shown() -> str:
    return "|".join(PROVIDERS)


def provider(text: str) -> str:
    """The name of a provider as obey has it; betcode's own are taken too."""
    name = ALSO.get(text, text)
    if name in PROFILES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is an agent that speaks ACP: --provider acp --config profile={text}"
        )
    if name not in PROVIDERS:
        raise argparse.ArgumentTypeError(f"{text!r} is no provider: choose from {', '.join(PROVIDERS)}")
    return name


def tokens(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not 0 <= number <= _MOST_TOKENS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return number


def seconds(text: str) -> float:
    try:
        return math.ceil(duration_s(text) * 1000) / 1000
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None
