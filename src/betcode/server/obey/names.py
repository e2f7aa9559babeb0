"""Convert ids, providers and phases to the names of the obey API."""

from collections.abc import Mapping

from betcode.domain.sessions.phase import Phase
from betcode.domain.values.identifiers import NotAnIdentifier, SessionId, parse_session_id, ulid_spelling
from betcode.providers.specs import SPECS
from betcode.server.obey.errors import ObeyError, ObeyErrorCode
from obey.local.v1 import local_pb2 as pb

STATUS: Mapping[Phase, pb.SessionStatus.ValueType] = {
    Phase.CREATED: pb.SESSION_STATUS_CREATED,
    Phase.STARTING: pb.SESSION_STATUS_STARTING,
    Phase.RUNNING: pb.SESSION_STATUS_RUNNING,
    Phase.WORKING: pb.SESSION_STATUS_WORKING,
    Phase.STOPPING: pb.SESSION_STATUS_STOPPING,
    Phase.STOPPED: pb.SESSION_STATUS_STOPPED,
    Phase.FAILED: pb.SESSION_STATUS_FAILED,
}
PROVIDER: Mapping[str, pb.SessionProvider.ValueType] = {
    name: pb.SessionProvider.ValueType(spec.obey_number) for name, spec in SPECS.items() if spec.obey_number
}
_NAME_OF = {number: name for name, number in PROVIDER.items()}
_SHOWN_NAME: Mapping[int, str] = {spec.obey_number: spec.obey_name for spec in SPECS.values() if spec.obey_number}
_SHORT = 6  # the end of a ULID distinguishes sessions; its beginning is the time


def provider_name(provider: pb.SessionProvider.ValueType) -> str:
    """Return the name as used in session names and on command lines: claude-code.

    The specs have the names: a provider can have a number that the enum of the API does not name.
    """
    return _SHOWN_NAME.get(provider, "unspecified")


def provider_of(kind: str) -> pb.SessionProvider.ValueType:
    """The number of a provider, or of the provider that has it as a profile; unspecified: this daemon has none."""
    spec = SPECS.get(kind)
    name = kind if spec is None else spec.profile_of or kind
    return PROVIDER.get(name, pb.SESSION_PROVIDER_UNSPECIFIED)


def kind_of(provider: int) -> str | None:
    """Return the engine's name of a provider; None if the API has no such number."""
    return _NAME_OF.get(provider)  # type: ignore[call-overload,no-any-return]


def default_name(provider: pb.SessionProvider.ValueType, session: SessionId) -> str:
    return f"{provider_name(provider)}-{ulid_spelling(session)[-_SHORT:].lower()}"


def session_of(text: str) -> SessionId:
    """Raises ObeyError where it cannot be a session's id."""
    try:
        return parse_session_id(text)
    except NotAnIdentifier:
        shown = f"No session has the id {text[:100]!r}" if text else "No session is given"
        raise ObeyError(ObeyErrorCode.SESSION_NOT_FOUND, shown) from None
