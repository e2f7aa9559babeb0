"""The built-in demo agent as a provider: its own launch, and claude's dialogue, whose wire it speaks."""

from betcode.providers.demo.provider import DemoProvider

__all__ = ["DemoProvider"]
