"""Explains why it is uncertain whether a deny rule about commands or hosts applies to a script."""

from collections.abc import Iterator, Sequence
from typing import Final

from betcode.rules.domains import host_in
from betcode.rules.lists import RuleList
from betcode.rules.patterns import CommandIndex
from betcode.rules.programs.command_files import short
from betcode.rules.programs.inline_code import mentioned_in_code
from betcode.rules.programs.uncertain_denials import (
    has_unknown,
    leading_elsewhere,
    may_start_anything,
    possibly_started,
    starts_nothing,
)
from betcode.rules.syntax.commands import Script, SimpleCommand, names

_CODE_WORDS: Final = 6  # of a command in code
_FETCHES: Final = names("aria2c curl elinks http https httpie lynx links w3m wget xh")  # an address may lack its scheme


def unsure_commands(script: Script, indices: Sequence[CommandIndex]) -> str | None:
    """Return why one of the rules about commands may apply to something in the script."""
    name = leading_elsewhere(script)
    if name is not None:
        return f"it sets {name}, and there are rules about commands"
    for part in script.all():
        if may_start_anything(part) or any(_may_apply(index, part.command) for index in indices):
            return f"the command that {short(part)} runs is unknown, and there are rules about commands"
    interpreter, words = mentioned_in_code(script)
    for at, word in enumerate(words):
        text = " ".join([word.rpartition("/")[2], *words[at + 1 : at + _CODE_WORDS]])
        if any(index.forbids_text(text) for index in indices):
            return f"the code for {interpreter} mentions {text[:60]}, and there are rules about commands"
    return None


def _may_apply(index: CommandIndex, command: SimpleCommand) -> bool:
    """May one of the rules be for this command, or for one that it starts?"""
    if index.may_know(command) and has_unknown(command):
        return True
    return any(
        index.forbids_text(started) if isinstance(started, str) else index.forbids(started)
        for started in possibly_started(command)
    )


def unsure_hosts(script: Script, lists: Sequence[RuleList]) -> str | None:
    """Return why a rule about hosts may apply to a program that contacts one."""
    if not lists:
        return None
    for part in script.all():
        if part.command.base in _FETCHES and has_unknown(part.command):
            return f"the host that {short(part)} contacts is unknown, and there are rules about hosts"
        for host in _hosts(part.command):
            rule = next((rule for listed in lists if (rule := listed.by_host(host)) is not None), None)
            if rule is not None:
                return f"{short(part)} names a host that {rule.text} is about"
    return None


def _hosts(command: SimpleCommand) -> Iterator[str]:
    if starts_nothing(command):
        return
    for word in command.words[1:]:
        host = host_in(word.value or "", bare=command.base in _FETCHES)
        if host is not None:
            yield host
