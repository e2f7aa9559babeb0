"""The state of a card and the effect of each key. Pure: time is passed in."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import (
    Allow,
    AllowSession,
    Deny,
    DenyAndStop,
    Permission,
    Prompt,
    PromptAnswer,
    Question,
    Reply,
    chosen_options,
    offered,
)

SEEN_AFTER_S = 0.4  # a key that was already on its way was meant for the text before


class CardMode(Enum):
    CHOOSE = "choose"
    PATTERNS = "patterns"  # choose an "always allow" rule
    PATTERN = "pattern"  # type a rule
    REASON = "reason"  # type a reason
    WORDS = "words"  # type an answer
    EDIT = "edit"  # edit the input


TYPING = frozenset({CardMode.PATTERN, CardMode.REASON, CardMode.WORDS, CardMode.EDIT})


@dataclass(frozen=True, slots=True)
class CardState:
    """One prompt as it is shown to one person."""

    prompt: v1.PendingPrompt
    shown_at: float
    mode: CardMode = CardMode.CHOOSE
    is_whole: bool = False
    cursor: int = 0
    chosen: frozenset[int] = frozenset()

    @property
    def question(self) -> v1.UserQuestion | None:
        """The current question; None for permissions."""
        group = self.prompt.questions
        return next((each for each in group.questions if each.question not in group.answers), None)

    @property
    def asked(self) -> Prompt:
        question = self.question
        return Permission(self.prompt.permission) if question is None else Question(question)

    def shows_the_same(self, other: v1.PendingPrompt) -> bool:
        """Whether both show the same request."""
        return other.request_id == self.prompt.request_id and CardState(other, 0).question == self.question


@dataclass(frozen=True, slots=True)
class GiveAnswer:
    """A person has decided."""

    given: PromptAnswer


@dataclass(frozen=True, slots=True)
class NextCard:
    """Show another card."""

    by: int


@dataclass(frozen=True, slots=True)
class LeaveCard:
    """Return to the draft; the card remains open."""


@dataclass(frozen=True, slots=True)
class ScrollCard:
    by: int  # in lines, or in pages
    pages: bool = False


@dataclass(frozen=True, slots=True)
class TooEarly:
    """The key came before anybody could read the card."""


Effect = GiveAnswer | NextCard | LeaveCard | ScrollCard | TooEarly
_STEPS = {"left": -1, "right": 1, "left_square_bracket": -1, "right_square_bracket": 1}
_SCROLLS = {
    "up": ScrollCard(-1),
    "down": ScrollCard(1),
    "pageup": ScrollCard(-1, pages=True),
    "pagedown": ScrollCard(1, pages=True),
}


def press(state: CardState, key: str, now: float) -> tuple[CardState, Effect | None]:
    """Return the card after a key, and its effect; a key without a meaning changes nothing."""
    if key == "escape":
        before = CardMode.PATTERNS if state.mode is CardMode.PATTERN else CardMode.CHOOSE
        return (state, LeaveCard()) if state.mode is CardMode.CHOOSE else (replace(state, mode=before), None)
    if state.mode is CardMode.CHOOSE and key in _STEPS:
        return state, NextCard(_STEPS[key])
    if key in ("pageup", "pagedown"):
        return state, _SCROLLS[key]
    if now - state.shown_at < SEEN_AFTER_S:
        return state, TooEarly()
    match state.mode:
        case CardMode.CHOOSE:
            question = state.question
            return _permission(state, key) if question is None else _question(state, question, key)
        case CardMode.PATTERNS:
            return _pattern(state, key)
        case CardMode.PATTERN | CardMode.REASON | CardMode.WORDS | CardMode.EDIT:
            return state, None  # the text field handles its own keys
        case other:
            assert_never(other)


def _permission(state: CardState, key: str) -> tuple[CardState, Effect | None]:
    asked = Permission(state.prompt.permission)
    match key:
        case "y":
            return state, GiveAnswer(Allow())
        case "a" if may_always(asked):
            return replace(state, mode=CardMode.PATTERNS), None
        case "e" if asked.is_editable:
            return replace(state, mode=CardMode.EDIT), None
        case "v" if not asked.is_of_budget:
            return replace(state, is_whole=not state.is_whole), None
        case "up" | "down":
            return state, _SCROLLS[key]
        case "space":
            return state, ScrollCard(1, pages=True)
        case _:
            return _no(state, key)


def _no(state: CardState, key: str) -> tuple[CardState, Effect | None]:
    match key:
        case "n":
            return state, GiveAnswer(Deny())
        case "d":
            return replace(state, mode=CardMode.REASON), None
        case "s":
            return state, GiveAnswer(DenyAndStop())
        case _:
            return state, None


def _pattern(state: CardState, key: str) -> tuple[CardState, Effect | None]:
    if key == "t":
        return replace(state, mode=CardMode.PATTERN), None
    if key in ("up", "down"):
        return state, _SCROLLS[key]
    pattern = offered(state.prompt.permission.grant_offers, _digit(key))
    return (state, None) if pattern is None else (state, GiveAnswer(AllowSession(pattern)))


def _question(state: CardState, question: v1.UserQuestion, key: str) -> tuple[CardState, Effect | None]:
    count = len(question.options)
    number = _digit(key)
    if 1 <= number <= count:
        at = replace(state, cursor=number - 1)
        return _toggled(at) if question.multi_select else (at, _reply(question, [number]))
    match key:
        case "up" | "down" if count:
            return replace(state, cursor=(state.cursor + (1 if key == "down" else -1)) % count), None
        case "space" if question.multi_select and count:
            return _toggled(state)
        case "enter" if question.multi_select and count:
            return state, _reply(question, [each + 1 for each in sorted(state.chosen)]) if state.chosen else None
        case "enter" | "space" if count:
            return state, _reply(question, [state.cursor + 1])
        case "t" | "enter":
            return replace(state, mode=CardMode.WORDS), None
        case "up" | "down":
            return state, _SCROLLS[key]
        case _:
            return _no(state, key)


def _toggled(state: CardState) -> tuple[CardState, None]:
    return replace(state, chosen=state.chosen ^ {state.cursor}), None


def _reply(question: v1.UserQuestion, numbers: list[int]) -> GiveAnswer | None:
    text = chosen_options(question, ",".join(map(str, numbers)))
    return None if text is None else GiveAnswer(Reply(text))


def typed(state: CardState, text: str) -> GiveAnswer | None:
    """Return the answer for a typed line; None if it is incomplete. A denial needs no reason."""
    line = text.strip()
    match state.mode:
        case CardMode.REASON:
            return GiveAnswer(Deny(line))
        case CardMode.PATTERN if line:
            return GiveAnswer(AllowSession(line))
        case CardMode.WORDS if line:
            return GiveAnswer(Reply(line))
        case _:
            return None


def may_always(asked: Permission) -> bool:
    """Whether the call can be allowed for the rest of the session."""
    return not asked.is_plan and not asked.is_of_budget


def hints(state: CardState) -> str:
    """Return the hint about the keys of the current mode."""
    match state.mode:
        case CardMode.CHOOSE:
            return _question_hints(state.question) if state.question is not None else _permission_hints(state)
        case CardMode.PATTERNS:
            count = min(len(state.prompt.permission.grant_offers), 9)
            which = ("1 choose · " if count == 1 else f"1-{count} choose · ") if count else ""
            return f"{which}t own pattern · Esc back"
        case CardMode.PATTERN:
            return "Enter allow this pattern · Esc back"
        case CardMode.REASON:
            return "Enter deny with this reason · Esc back"
        case CardMode.WORDS:
            return "Enter answer · Esc back"
        case CardMode.EDIT:
            return "Ctrl+S allow this input · Ctrl+E editor · Esc back"
        case other:
            assert_never(other)


def _permission_hints(state: CardState) -> str:
    asked = Permission(state.prompt.permission)
    always = "a always · " if may_always(asked) else ""
    edit = "e edit · " if asked.is_editable else ""
    whole = "" if asked.is_of_budget else f" · v {'less' if state.is_whole else 'details'}"
    return f"y allow · {always}{edit}n deny · d deny with reason · s deny & stop{whole}"


def _question_hints(question: v1.UserQuestion) -> str:
    count = len(question.options)
    if not count:
        return "t answer · n decline · d deny with reason · s deny & stop"
    if question.multi_select:
        return "Space choose · Enter send · t own words · n decline · d deny with reason · s deny & stop"
    return f"1-{min(count, 9)} or Enter choose · t own words · n decline · d deny with reason · s deny & stop"


def _digit(key: str) -> int:
    return int(key) if len(key) == 1 and key.isascii() and key.isdigit() else 0
