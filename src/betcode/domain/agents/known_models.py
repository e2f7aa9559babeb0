"""Providers that know their models."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class KnowsModels(Protocol):
    """The optional interface of a provider that knows its models."""

    def model_refusal(self, model: str, environment: Mapping[str, str]) -> str:
        """Return why no agent can use that model, in a sentence; empty if one can."""
        ...
