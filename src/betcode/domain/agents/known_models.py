"""Providers that know their models."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class KnowsModels(Protocol):
    """A provider may be one of these beside all else."""

    def model_refusal(self, model: str, environment: Mapping[str, str]) -> str:
        """Why no agent can use that model, in a sentence; empty where one can."""
        ...
