"""Agents that speak the Agent Client Protocol: one dialogue for all, and what is different of each in a profile."""

from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.handshake import opening
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.acp.provider import AcpProvider

__all__ = ["CAPABILITIES", "AcpFamily", "AcpProvider", "Profile", "opening"]
