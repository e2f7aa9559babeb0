"""The provider for OpenAI-compatible APIs, through our own agent program."""

from betcode.providers.openai.provider import OpenAiProvider

__all__ = ["OpenAiProvider"]
