"""How clients are called."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientName:
    """Who is connected, as it names itself."""

    client_id: str
    client_type: str = ""
    shown_as: str = ""  # for people, and so that they know which of their screens it is; nothing is decided by it


@dataclass(frozen=True, slots=True)
class Present:
    """A client that follows, and how far it is behind the newest event."""

    client: ClientName
    behind: int
    lagging: bool


NOBODY = ClientName("")
