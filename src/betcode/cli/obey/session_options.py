"""The verbs of `obey session` and their options."""

import argparse
import math
from typing import TYPE_CHECKING, Protocol

from betcode.cli.obey.dynamic_completion import CampaignArgument, SessionArgument
from betcode.cli.obey.names import ALSO, DEFAULT_PROVIDER, PROFILES, PROVIDERS, STATUSES
from betcode.config.units import NotUnderstood, duration_s

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

_ID = "session id, a unique prefix of it, or the session's name"
_MOST_TOKENS = 2**63 - 1


class Command(Protocol):
    def __call__(self, commands: "Commands[Parser]", name: str, says: str, handler: str) -> "Parser": ...


def add_session(verbs: "Commands[Parser]", command: Command) -> None:
    _add_create(command(verbs, "create", "create a session in a campaign and start its agent", "session_create:create"))
    listing = command(verbs, "list", "list live sessions, newest first", "session_list:list_sessions")
    _add_campaign(listing, "only sessions of this campaign")
    listing.add_argument("-a", "--all", action="store_true", help="include stopped and failed sessions")
    listing.add_argument(
        "--status",
        action="append",
        choices=list(STATUSES),
        help="only sessions with this status, ended ones included; may be repeated",
    )
    listing.add_argument("--provider", type=provider, metavar=_shown(), help="only sessions of this provider")
    send = command(verbs, "send", "send a message and print only the reply on stdout", "session_send:send")
    _add_id(send)
    send.add_argument("message", nargs="?", metavar="MESSAGE", help="the message; read from stdin if omitted or -")
    send.add_argument(
        "--on-ask",
        choices=["deny", "wait"],
        help="when the agent asks for permission: deny and exit with 1, or wait for an answer from another terminal "
        "(default: wait on a terminal, otherwise deny)",
    )
    watch = command(
        verbs, "watch", "show the activity of a session, or of all sessions, as it happens", "session_watch:watch"
    )
    _add_id(watch, is_optional=True)
    stop = command(verbs, "stop", "stop a session when its current work is done", "session_commands:stop")
    _add_id(stop)
    stop.add_argument("--force", action="store_true", help="stop at once")
    restart = command(
        verbs, "restart", "stop a session and start it again with its original settings", "session_commands:restart"
    )
    _add_id(restart)
    _add_config(restart, "changed provider settings")
    info = command(verbs, "info", "show the details of a session", "session_commands:info")
    _add_id(info)
    answer = command(verbs, "answer", "answer a prompt of a session's agent", "session_commands:answer")
    _add_id(answer)
    answer.add_argument("prompt", metavar="PROMPT", help="id of the prompt, or a unique prefix of it")
    answer.add_argument("decision", choices=["allow", "deny"])
    answer.add_argument(
        "--for-session", action="store_true", help="with allow: also allow similar calls for the rest of the session"
    )
    answer.add_argument("-m", "--message", metavar="TEXT", help="with deny: message to the agent")


def _add_create(create: "Parser") -> None:
    _add_campaign(
        create,
        "campaign id, a unique prefix of it, or the campaign's name (default: the campaign of the current directory)",
    )
    create.add_argument(
        "-p",
        "--provider",
        type=provider,
        default=DEFAULT_PROVIDER,
        metavar=_shown(),
        help=f"provider of the agent ({DEFAULT_PROVIDER})",
    )
    create.add_argument("--model", metavar="MODEL", help="model to use (the provider's default)")
    create.add_argument("-n", "--name", "--agent", dest="name", metavar="NAME", help="name of the agent")
    create.add_argument("--festival", metavar="ID", help="festival that the session belongs to")
    create.add_argument("--task", metavar="ID", help="task that the session works on")
    create.add_argument("--workdir", metavar="DIR", help="working directory inside the campaign (its root)")
    _add_config(create, "provider settings")
    create.add_argument(
        "-e", "--env", metavar="NAME=VALUE", action="append", help="environment variable of the agent; may be repeated"
    )
    create.add_argument("--max-tokens", type=tokens, default=0, metavar="N", help="limit of tokens (no limit)")
    create.add_argument(
        "--timeout", type=seconds, default=0.0, metavar="TIME", help='lifetime limit, such as "90m" (no limit)'
    )
    create.add_argument("-m", "--message", metavar="TEXT", help="first message; - reads it from stdin")


def _add_campaign(parser: "Parser", says: str) -> None:
    parser.add_argument("-c", "--campaign", action=CampaignArgument, metavar="CAMPAIGN", help=says)


def _add_id(parser: "Parser", *, is_optional: bool = False) -> None:
    says = f"{_ID}; default: all sessions" if is_optional else _ID
    parser.add_argument("session", nargs="?" if is_optional else None, action=SessionArgument, metavar="ID", help=says)
    _add_campaign(parser, "search only sessions of this campaign")


def _add_config(parser: "Parser", says: str) -> None:
    parser.add_argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        help=f"{says}, each as KEY=VALUE or all as a JSON object; may be repeated",
    )


def _shown() -> str:
    return "|".join(PROVIDERS)


def provider(text: str) -> str:
    """Return obey's name of a provider; betcode's names are accepted too."""
    name = ALSO.get(text, text)
    if name in PROFILES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is a profile: use --provider {PROFILES[name]} --config profile={text}"
        )
    if name not in PROVIDERS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a provider: choose from {', '.join(PROVIDERS)}")
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
