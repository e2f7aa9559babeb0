"""Calls the model, retries where that may help, and explains failures."""

import email.utils
import importlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread

from betcode.agents.openai.options import OPENAI, OpenAiOptions
from betcode.agents.openai.records import Call, ModelAnswer
from betcode.agents.openai.text import all_whole, whole
from betcode.agents.openai.wires import (
    MOST_CHARACTERS,
    Finished,
    ModelFailed,
    ModelRequest,
    StreamCut,
    TextDelta,
    ThoughtDelta,
    Wire,
)
from betcode.wire.acp.extensions import Trouble

if TYPE_CHECKING:
    import openai

PauseKind = Literal["", "limit", "overload", "api"]
Pause = Callable[[PauseKind, int], Awaitable[None]]  # the wall time of the next try in milliseconds

_LONGEST_WAIT_S = 60.0
_OVERLOADED = (503, 529)
_CONTEXT_CODES = ("context_length_exceeded", "context_window_exceeded")
_CONTEXT_WORDS = ("context length", "context window", "context size", "maximum context", "too many tokens", "n_ctx")


class AskingFailed(Exception):
    """The API gave no answer."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.get("message", ""))
        self.trouble = trouble

    @property
    def is_too_long(self) -> bool:
        return self.trouble["kind"] == "context"


class Model:
    """One API; it is connected to when it is first asked."""

    def __init__(self, options: OpenAiOptions) -> None:
        self._options = options
        self._wire: Wire | None = None

    async def ask(
        self, question: ModelRequest, pause: Pause
    ) -> AsyncGenerator[TextDelta | ThoughtDelta | Finished, None]:
        """Yield deltas and the end of one answer. Sent text cannot be retracted, so nothing is retried after a delta.

        Raises:
            AskingFailed
        """
        wire = await self._connected()
        openai = importlib.import_module("openai")
        paused = False
        waits_s = self._options.waits_s
        for attempt in range(len(waits_s) + 1):
            said = False
            try:
                async with aclosing(_understood(wire, question)) as answer:
                    async for part in answer:
                        if paused:
                            paused = False
                            await pause("", 0)
                        said = True
                        yield part
                return
            except (openai.APIError, StreamCut, ModelFailed) as error:
                trouble = self._trouble(error)
                if said or attempt == len(waits_s) or not _may_pass(error):
                    raise AskingFailed(trouble) from None
                wait_s = _wait_s(error, waits_s[attempt])
            paused = True
            await pause(_pause_kind(trouble), int((time.time() + wait_s) * 1000))
            await anyio.sleep(wait_s)

    async def close(self) -> None:
        if self._wire is not None:
            await self._wire.close()

    async def _connected(self) -> Wire:
        if self._wire is None:
            self._wire = await anyio.to_thread.run_sync(self._connect)
        return self._wire

    def _connect(self) -> Wire:
        """Import the package, which takes a second, only for the first call: a resumed session may not need it."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        options = self._options
        if not (options.key.isascii() and (options.key.isprintable() or not options.key)):
            message = "The API key cannot be sent: it contains invalid characters"
            raise AskingFailed({"kind": "auth", "message": message, "advice": self._key_advice})
        client = AsyncOpenAI(
            # Key and conversation are for the server that was named, and for no other that it names.
            http_client=DefaultAsyncHttpxClient(follow_redirects=False),
            # A server without keys accepts any, and the package requires one.
            api_key=options.key or "none",
            base_url=options.base_url,
            organization="",
            project="",
            max_retries=0,
        )
        if options.wire == "responses":
            from betcode.agents.openai.wires.responses import ResponsesWire

            return ResponsesWire(client)
        from betcode.agents.openai.wires.chat import ChatWire

        return ChatWire(client)

    # ---------------------------------------------------------------- what went wrong

    def _trouble(self, error: Exception) -> Trouble:
        openai = importlib.import_module("openai")
        match error:
            case StreamCut():
                return {"kind": "error", "message": "The model's answer is incomplete: the connection was closed"}
            case ModelFailed():
                return self._from_code(f"The model failed: {error}", error.code)
            case openai.APIStatusError():
                return self._from_status(error)
            case openai.APITimeoutError():
                return {"kind": "error", "message": f"{self._options.base_url} did not answer in time"}
            case openai.APIConnectionError():
                why = error.__cause__ or error
                message = f"{self._options.base_url} cannot be reached: {self._clean(str(why) or type(why).__name__)}"
                advice = "Check that the server is running, and check base_url"
                return {"kind": "error", "message": message, "advice": advice}
            case _:
                return self._from_code(f"The API failed: {error}", str(getattr(error, "code", "") or ""))

    def _from_status(self, error: "openai.APIStatusError") -> Trouble:
        words = error.body.get("message") if isinstance(error.body, dict) else None
        said = self._clean(words if isinstance(words, str) else error.message)
        message = f"The API answered {error.status_code}: {said}"
        trouble = self._from_code(message, str(error.code or ""))
        trouble["status"] = error.status_code
        if error.status_code in (400, 413) and any(words in said.lower() for words in _CONTEXT_WORDS):
            trouble["kind"] = "context"
        elif error.status_code in (401, 403):
            trouble["kind"] = "auth"
            trouble["advice"] = self._key_advice
        elif 300 <= error.status_code < 400:
            trouble["message"] = f"The API answered {error.status_code}, a redirect, which is not followed"
            trouble["advice"] = "Set base_url to the final address"
        elif error.status_code == 404:
            trouble["advice"] = f"Check the model's name{'' if self._options.base_url == OPENAI else ' and base_url'}"
        elif error.status_code == 429:
            trouble["kind"] = "rate_limit"
        elif error.status_code in _OVERLOADED:
            trouble["kind"] = "overload"
        return trouble

    @property
    def _key_advice(self) -> str:
        variable = self._options.key_variable
        return f"Put a valid key into {variable} and start a new session" if variable else "Set an API key"

    def _from_code(self, message: str, code: str) -> Trouble:
        trouble: Trouble = {"kind": "error", "message": self._clean(message)}
        if code in _CONTEXT_CODES:
            trouble["kind"] = "context"
            trouble["advice"] = "Start a new session, or send a shorter message"
        elif code in ("insufficient_quota", "rate_limit_exceeded"):
            trouble["kind"] = "rate_limit"
        return trouble

    def _clean(self, text: str) -> str:
        """Return the text without the key, because it is stored and shown."""
        key = self._options.key
        return (text.replace(key, "***") if key else text)[:2000]


async def _understood(wire: Wire, question: ModelRequest) -> AsyncGenerator[TextDelta | ThoughtDelta | Finished, None]:
    """Parse the server's response, if possible: the package validates nothing.

    Raises: as `Wire.ask`.
    """
    said = 0
    try:
        async with aclosing(wire.ask(question)) as answer:
            async for part in answer:
                said += 0 if isinstance(part, Finished) else len(part.text)
                if said > MOST_CHARACTERS:
                    raise ModelFailed("its answer is too long")
                yield _whole(part)
    except UnicodeDecodeError:  # a line that ends in the middle of a character
        raise StreamCut from None
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as odd:
        raise ModelFailed(f"its answer cannot be parsed ({type(odd).__name__})") from None


def _whole(part: TextDelta | ThoughtDelta | Finished) -> TextDelta | ThoughtDelta | Finished:
    match part:
        case TextDelta(text):
            return TextDelta(whole(text))
        case ThoughtDelta(text):
            return ThoughtDelta(whole(text))
        case Finished(answer):
            calls = tuple(Call(whole(each.call_id), whole(each.name), whole(each.arguments)) for each in answer.calls)
            items = tuple(all_whole(answer.items))
            return replace(part, answer=ModelAnswer(whole(answer.text), calls, items, answer.is_partial))


def _may_pass(error: Exception) -> bool:
    """Return whether the same request may succeed a little later."""
    openai = importlib.import_module("openai")
    match error:
        case openai.APIStatusError():
            is_passing = error.status_code in (408, 409, 429) or error.status_code >= 500
            return bool(is_passing) and error.code != "insufficient_quota"
        case openai.APIConnectionError() | StreamCut():
            return True
        case ModelFailed(code=code):
            return code in ("server_error", "rate_limit_exceeded")
        case _:
            return False


def _wait_s(error: Exception, ours_s: float) -> float:
    """As the server asks, within reason."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        told = headers.get(name, "")
        try:
            return min(_LONGEST_WAIT_S, max(0.0, float(told) * unit))
        except ValueError:
            if (until := _moment(told)) is not None:
                return min(_LONGEST_WAIT_S, max(0.0, until - time.time()))
    return ours_s


def _moment(told: str) -> float | None:
    try:
        when = email.utils.parsedate_tz(told)
        return None if when is None else email.utils.mktime_tz(when)
    except (ValueError, OverflowError):  # of a day that no calendar has
        return None


def _pause_kind(trouble: Trouble) -> PauseKind:
    match trouble["kind"]:
        case "rate_limit":
            return "limit"
        case "overload":
            return "overload"
        case _:
            return "api"
