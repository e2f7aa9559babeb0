"""OpenAI-compatible APIs, through our own agent program: how it is launched, and what it needs."""

from betcode.providers.openai.provider import OpenAiProvider

__all__ = ["OpenAiProvider"]
