"""The provider for the built-in demo agent: its own launch, and the dialogue of Claude Code."""

from betcode.providers.demo.provider import DemoProvider

__all__ = ["DemoProvider"]
