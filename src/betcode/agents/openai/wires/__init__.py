"""Calls of the model: one module for each of the two APIs."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import ModelAnswer

_MOST_TOKENS = 10**12
MOST_CHARACTERS = 4_000_000  # of an answer, or of a call's arguments: ten times the models' limit


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    text: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Of one answer; `input_tokens` has the cached ones in it."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


def counted(told: object) -> int:
    """Return a number of tokens, whatever type the server sends."""
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 < told < _MOST_TOKENS else 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a stream: nothing follows it."""

    answer: ModelAnswer
    reason: str = ""  # why it is not whole: "length" or "filter"
    usage: TokenUsage | None = None


class StreamCut(Exception):
    """The stream ended before the answer did."""


class ModelFailed(Exception):
    """The model reported, during its stream, that it failed."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as described to the model; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: everything that the model gets."""

    model: str
    instructions: str
    shown: Sequence[Shown]
    tools: Sequence[Tool]


class Wire(Protocol):
    async def close(self) -> None:
        """Let go of connections."""
        ...

    def ask(self, question: ModelRequest) -> AsyncGenerator[TextDelta | ThoughtDelta | Finished, None]:
        """Deltas, and `Finished` as the last.

        Raises:
            openai.APIError: refused, or not reached.
            StreamCut, ModelFailed
        """
        ...
