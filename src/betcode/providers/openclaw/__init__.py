"""The provider for agents of an OpenClaw gateway: launches the bridge, and starts a gateway if needed."""

from betcode.providers.openclaw.provider import KEYS, OpenClawProvider

__all__ = ["KEYS", "OpenClawProvider"]
