"""The handshake with a daemon: compare versions, and negotiate the features that the client uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import grpc

from betcode.client.errors import ClientError, Outdated, Refused, as_client_errors, unanswered
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import version_pb2 as v1
from betcode.v1.version_pb2_grpc import VersionServiceStub

if TYPE_CHECKING:
    from betcode.v1.version_pb2_grpc import VersionServiceAsyncStub  # exists only in the stub files

Metadata = tuple[tuple[str, str], ...]
API_VERSION = "v1"
# The features that this client uses if they are available.
REQUESTED = (
    "streaming_deltas",
    "permission_bridge",
    "session_persistence",
    "event_batching",
    "context_compaction",
)
_TIMEOUT_S = 10.0
_CAPABILITIES = {"unknown_events": "ignored", "deprecations": "shown"}


@dataclass(frozen=True, slots=True)
class Handshake:
    """The response of the daemon. A daemon without this call gives none, and every feature is tried."""

    own_version: str
    version: v1.GetVersionResponse = field(default_factory=v1.GetVersionResponse)
    outcome: v1.NegotiateResponse = field(default_factory=lambda: v1.NegotiateResponse(accepted=True))
    knows_versions: bool = True

    @property
    def agent_refusal(self) -> str:
        """Why sessions of the daemon's agent cannot work, and a remedy; empty if they can."""
        agent = self.version.claude_code
        if agent.compatibility != v1.INCOMPATIBLE:
            return ""
        reason = self.outcome.rejection_reason or f"Claude Code v{agent.version} is too old"
        return f"{reason}. Upgrade it: {self.outcome.upgrade_url or agent.upgrade_url}"

    @property
    def too_old(self) -> str:
        """Why the daemon does not accept this client, and a remedy; empty if it does."""
        least = self.version.constraints.min_client_version
        refused = not self.outcome.accepted and not self.agent_refusal
        if not refused and not self._is_older_than(least):
            return ""
        reason = self.outcome.rejection_reason or f"Client too old: {self.own_version} < required {least}"
        where = f" ({self.outcome.upgrade_url})" if self.outcome.upgrade_url else ""
        return f"{reason}. Upgrade betcode to {least or self.version.server_version} or later{where}"

    @property
    def warnings(self) -> list[str]:
        """Return warnings for the person; those about one feature are shown when it is used."""
        found: list[str] = []
        if self.knows_versions and self.version.api_version != API_VERSION:
            found.append(
                f"The daemon ({self.version.server_version}) uses API {self.version.api_version!r} and this client "
                f"{API_VERSION!r}: some commands may fail"
            )
        recommended = self.version.constraints.recommended_client
        if self._is_older_than(recommended):
            found.append(f"This is betcode {self.own_version}; the daemon recommends {recommended}")
        about_features = tuple(f"{name} " for name in REQUESTED)
        who = f"this is betcode {self.own_version}, the daemon {self.version.server_version}"
        warnings = (warning for warning in self.outcome.warnings if not warning.startswith(about_features))
        return found + [f"{warning} ({who})" for warning in warnings]

    def has(self, feature: str) -> bool:
        return not self.knows_versions or feature in self.outcome.granted_features

    def need(self, feature: str, title: str) -> None:
        """Raises Refused, with the required setting or version, if a feature was not granted."""
        if self.has(feature):
            return
        flag = next((each for each in self.version.feature_flags if each.name == feature), v1.FeatureFlag())
        details: Mapping[str, str] = {"feature": feature}
        server = self.version.server_version
        if flag.is_built and not flag.is_enabled:
            details = {"feature": feature, "setting": f"feature_flags.{feature}"}
            message = f"{title} is not enabled: set feature_flags.{feature} to true in settings.json"
        elif flag.introduced_version:
            message = f"{title} requires a daemon of version {flag.introduced_version} or later; this one is {server}"
        else:
            message = f"{title} requires a daemon that knows {feature}; this one is {server}"
        raise Refused(
            message, code=ErrorCode.FEATURE_NOT_AVAILABLE, details=details, status=grpc.StatusCode.UNIMPLEMENTED
        )

    def _is_older_than(self, version: str) -> bool:
        # A daemon of our own release requires nothing later; importing the comparison takes 8 ms.
        if not version or self.version.server_version == self.own_version:
            return False
        from betcode.domain.values.versions import is_older

        return is_older(self.own_version, version)


class Greeting:
    """Performs the handshake once per connection."""

    def __init__(self, channel: grpc.aio.Channel, own_version: str, client_type: str) -> None:
        self._channel = channel
        self._own_version = own_version
        self._client_type = client_type
        self._lock = anyio.Lock()
        self._made: Handshake | None = None

    def forget(self) -> None:
        """Forget the result after a disconnect: another daemon may answer next."""
        self._made = None

    async def welcome(self, metadata: Metadata) -> Handshake:
        """Return the result of the handshake with a daemon that accepts this client.

        Raises:
            Outdated: the daemon does not accept it; nothing else may be called.
            ClientError: nobody answers.
        """
        handshake = await self.shake(metadata)
        if handshake.too_old:
            raise Outdated(handshake.too_old)
        return handshake

    async def shake(self, metadata: Metadata) -> Handshake:
        """Return the result of the handshake, even if the daemon does not accept this client."""
        async with self._lock:
            if self._made is None:
                self._made = await self._ask(metadata)
            return self._made

    async def _ask(self, metadata: Metadata) -> Handshake:
        stub: VersionServiceAsyncStub = VersionServiceStub(self._channel)
        request = v1.NegotiateRequest(
            client_version=self._own_version,
            client_type=self._client_type,
            requested_features=REQUESTED,
            client_capabilities=_CAPABILITIES,
        )
        # Both calls at once: they are independent.
        version = stub.GetVersion(v1.GetVersionRequest(), timeout=_TIMEOUT_S, metadata=metadata)
        outcome = stub.NegotiateCapabilities(request, timeout=_TIMEOUT_S, metadata=metadata)
        try:
            async with as_client_errors():
                return Handshake(self._own_version, await version, await outcome)
        except ClientError as error:
            if error.status is grpc.StatusCode.DEADLINE_EXCEEDED:  # the daemon may be busy: try again later
                raise unanswered(error) from None
            if not error.is_unimplemented:
                raise
            return Handshake(self._own_version, knows_versions=False)
        finally:
            for call in (version, outcome):
                call.cancel()
