"""The environment of a campaign's sessions and commands: which variables are removed, added, or reserved."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaigns import Campaign, is_identifier
from betcode.domain.values.text import is_valid, shortened
from betcode.git.environment import settings_of_a_call

_RESERVED = "OBEY_"
_REMOVED_BEGINNINGS = (_RESERVED, "AWS_", "GCP_", "AZURE_")
_REMOVED = frozenset({"DATABASE_URL", "REDIS_URL", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "CAMP_ROOT"})
# Nobody is there to type, to page or to edit; and what git would do in the background is waited for, else it would be
# ended with the command.
_NOBODY_THERE = {
    "GIT_ASKPASS": "/bin/false",
    "GIT_EDITOR": "/bin/false",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "/bin/false",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "SSH_ASKPASS": "/bin/false",
    "TERM": "dumb",
    **settings_of_a_call({"gc.autoDetach": "false", "maintenance.autoDetach": "false"}),
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # a tab is harmless
_VARIABLES = 256
_NAME_LENGTH = 256
_VALUE_BYTES = 64 * 1024
_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The facts about a session for its programs."""

    session_id: str
    campaign: Campaign
    provider: str
    agent_name: str
    socket: str  # of the daemon


def session_environment(
    inherited: Mapping[str, str], asked: Mapping[str, str], facts: SessionFacts, keys: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the whole environment of a session's agent; `keys` are those that the provider needs.

    Raises:
        InvalidRequest: a requested variable is reserved or invalid.
    """
    check_asked(asked)
    injected = {
        "OBEY_SESSION_ID": _identifier("session id", facts.session_id),
        **_of_campaign(facts.campaign, facts.socket),
        "OBEY_PROVIDER": _identifier("provider", facts.provider),
        "OBEY_SESSION": facts.session_id,
        "OBEY_AGENT": _value("the agent's name", facts.agent_name),
    }
    return {**inheritable(inherited), **(keys or {}), **asked, **injected}


def command_environment(inherited: Mapping[str, str], campaign: Campaign, socket: str) -> dict[str, str]:
    """Return the whole environment of one command that the daemon runs for a caller.

    The caller may be an agent: fest and camp are informed, and then refuse what only a person may do.
    """
    passed = {
        name: value
        for name, value in inheritable(inherited).items()
        if not name.startswith(("GIT_", "JUST_"))  # they could send git and just somewhere else
    }
    ceiling = {"GIT_CEILING_DIRECTORIES": str(campaign.root.parent)}
    found = {**passed, **_NOBODY_THERE, **ceiling, **_of_campaign(campaign, socket), "OBEY_AGENT": "execute"}
    return {**found, "PATH": _absolute(found.get("PATH", ""))}


def inheritable(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the inherited variables: none of other sessions, and no keys of other services."""
    return {name: value for name, value in inherited.items() if not _is_removed(name)}


def check_asked(asked: Mapping[str, str]) -> None:
    """Raises InvalidRequest where a variable is not the caller's to set, or cannot be one."""
    for wrong in _wrong(asked):
        raise InvalidRequest(wrong)


def _wrong(asked: Mapping[str, str]) -> Iterator[str]:
    if len(asked) > _VARIABLES:
        yield f"An environment of {len(asked)} variables is too large: at most {_VARIABLES}"
    for name, value in asked.items():
        shown = ascii(shortened(name, 100))
        if name.startswith(_RESERVED):
            yield f"The variable {shown} cannot be set: names that begin with {_RESERVED} are reserved for the daemon"
        elif name == "CAMP_ROOT":
            yield "The variable 'CAMP_ROOT' cannot be set: it is the root of the session's campaign"
        elif not _NAME.fullmatch(name) or len(name) > _NAME_LENGTH:
            yield f"The variable {shown} cannot be set: use letters, digits and _, and do not begin with a digit"
        else:
            _value(f"the variable {shown}", value)
    if sum(len(name) + len(os.fsencode(value)) for name, value in asked.items()) > _BYTES:
        yield f"The environment is too large: at most {_BYTES} bytes"


def _value(what: str, text: str) -> str:
    if not is_valid(text) or _CONTROL.search(text):
        raise InvalidRequest(f"The value of {what} cannot be used: it has a line break or another control character")
    if len(text.encode()) > _VALUE_BYTES:
        raise InvalidRequest(f"The value of {what} cannot be used: it is longer than {_VALUE_BYTES} bytes")
    return text


def _identifier(what: str, text: str) -> str:
    if not is_identifier(text):
        raise InvalidRequest(
            f"The {what} {shortened(text, 100)!a} cannot be used: use at most 256 letters, digits and _ . : -"
        )
    return text


def _of_campaign(campaign: Campaign, socket: str) -> dict[str, str]:
    return {
        "OBEY_CAMPAIGN_ID": _identifier("campaign's id", campaign.id),
        "OBEY_CAMPAIGN_DIR": str(campaign.root),
        "OBEY_DAEMON_SOCKET": socket,
        "CAMP_ROOT": str(campaign.root),  # an inherited one would send camp to another campaign
    }


def _absolute(path: str) -> str:
    """Return PATH without relative entries."""
    return os.pathsep.join(part for part in (path or os.defpath).split(os.pathsep) if part.startswith("/"))


def _is_removed(name: str) -> bool:
    return name in _REMOVED or name.startswith(_REMOVED_BEGINNINGS)
