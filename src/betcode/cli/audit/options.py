"""The options of `betcode audit`."""

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


def add_audit(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "audit", "list, export and verify the audit log of decisions")
    listing = command(verbs, "list", "list decisions, newest last", "audit.commands:list_audit")
    _add_filters(listing)
    listing.add_argument("--limit", type=_rows, default=50, metavar="N", help="show the newest N; 0: all (50)")
    export = command(verbs, "export", "write decisions to a file, without secrets", "audit.commands:export")
    _add_filters(export)
    export.add_argument("--format", choices=["jsonl", "csv"], help="default: JSON lines, or CSV if FILE ends in .csv")
    export.add_argument("-o", "--output", metavar="FILE", help="output file (stdout)")
    verify = command(verbs, "verify", "verify that no entry was changed, removed or inserted", "audit.commands:verify")
    verify.add_argument(
        "--head", type=_head, metavar="NUMBER:HASH", help="verify that this earlier audit head is still in the chain"
    )


def _add_filters(parser: "Parser") -> None:
    parser.add_argument(
        "--since", metavar="WHEN", help='only entries after this: an age ("30d", "2h"), a date or a time'
    )
    parser.add_argument("--until", metavar="WHEN", help="only entries before this")
    parser.add_argument("-s", "--session", metavar="ID", help="only entries of this session")


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return int(text)


def _head(text: str) -> str:
    if not _HEAD.fullmatch(text):
        raise argparse.ArgumentTypeError("a head is NUMBER:HASH, as `betcode audit verify` prints it")
    return text
