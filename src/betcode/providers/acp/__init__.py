"""Agents that speak the Agent Client Protocol: one dialogue for all, and a profile for each."""

from betcode.providers.acp.family import AcpFamily
from betcode.providers.acp.handshake import opening
from betcode.providers.acp.profile import CAPABILITIES, Profile
from betcode.providers.acp.provider import AcpProvider

__all__ = ["CAPABILITIES", "AcpFamily", "AcpProvider", "Profile", "opening"]
