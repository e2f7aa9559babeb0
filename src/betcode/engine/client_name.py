"""Names of connected clients."""

from dataclasses import dataclass, field

HEADLESS = "headless"  # a client that shows nothing to anybody


@dataclass(frozen=True, slots=True)
class ClientName:
    """Who is connected, as it names itself."""

    client_id: str
    client_type: str = ""
    shown_as: str = ""  # for people, and so that they know which of their screens it is; nothing is decided by it
    peer: str = field(default="", compare=False)  # the process behind it, as the system knows it; for the audit

    @property
    def is_watching(self) -> bool:
        """Whether a person may be behind it who sees what is asked."""
        return self.client_type != HEADLESS


@dataclass(frozen=True, slots=True)
class Present:
    """A client that follows, and how far it is behind the newest event."""

    client: ClientName
    behind: int
    lagging: bool


NOBODY = ClientName("")
