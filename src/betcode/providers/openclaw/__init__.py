"""Agents of an OpenClaw gateway: how the bridge to it is launched, and how a gateway is had."""

from betcode.providers.openclaw.provider import KEYS, OpenClawProvider

__all__ = ["KEYS", "OpenClawProvider"]
