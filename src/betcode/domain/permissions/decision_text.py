"""A person's decision as text."""

from collections.abc import Mapping

DECIDED: Mapping[str, str] = {
    "ALLOW_ONCE": "allowed",
    "ALLOW_SESSION": "allowed for the session",
    "ALLOW_WITH_EDIT": "allowed with other input",
    "DENY": "denied",
    "DENY_NO_INTERRUPT": "denied",
    "DENY_WITH_INTERRUPT": "denied, and the turn stopped",
}
