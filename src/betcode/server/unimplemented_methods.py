"""Methods of the contract that this release does not implement: they return UNIMPLEMENTED and name the feature."""

from collections.abc import Mapping
from typing import NoReturn

from google.protobuf.descriptor import MethodDescriptor

from betcode.domain.errors import FeatureNotAvailable
from betcode.domain.release.features import FeatureFlags
from betcode.server.errors import status_of
from betcode.server.rpc import Context, Handler, handler_of

# By method, else by service; everything else is implemented.
FEATURES: Mapping[str, str] = {
    "betcode.v1.MachineService": "Management of several machines",
    "betcode.v1.GitLabService": "The GitLab integration",
    "betcode.v1.SubagentService": "Subagent orchestration",
    "betcode.v1.TunnelService": "The relay tunnel",
    "obey.local.v1.LocalDaemonService": "The obey interface",
}
# Implemented, and served on another socket.
_ELSEWHERE: Mapping[str, str] = {
    "obey.local.v1.LocalDaemonService": (
        "The obey interface has a separate socket: $XDG_RUNTIME_DIR/obey/daemon.sock, "
        "or the path in the setting obey.socket"
    ),
}


def feature_of(method: MethodDescriptor) -> str | None:
    """The feature that a call belongs to; None where it is built."""
    return FEATURES.get(method.full_name) or FEATURES.get(method.containing_service.full_name)


def unimplemented_error(method: MethodDescriptor, features: FeatureFlags) -> FeatureNotAvailable | None:
    """Return the error of an unimplemented call; if a flag enables it later, the error names the setting."""
    title = feature_of(method)
    if title is None:
        return None
    if elsewhere := _ELSEWHERE.get(method.containing_service.full_name):
        return FeatureNotAvailable(title, elsewhere)
    gate = features.gate_of(method.full_name)
    if gate is None:
        return FeatureNotAvailable(title)
    return FeatureNotAvailable(gate.name, features.refusal(gate.name), setting=gate.setting)


def unimplemented_handler(method: MethodDescriptor, error: FeatureNotAvailable) -> Handler:
    """Return a handler of the call's shape that reports the missing feature."""

    async def refuse(_: object, context: Context) -> NoReturn:
        if method.client_streaming:
            await context.read()  # a client that is refused while it sends would see a fault instead of the reason
        await context.abort_with_status(status_of(error))

    return handler_of(method, refuse)
