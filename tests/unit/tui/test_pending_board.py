"""The board of all open prompts: its state, its listeners, and the delivery of answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from betcode.client import LinkState
from betcode.tui.pending_board import AnswerDelivery, BoardChanged, News, PendingBoard, PromptClosed, PromptOpened
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Allow, Deny, Permission, Question, Reply
from support.daemon.pending_prompts import ToldClient, permission, questions, refusal, unreachable
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class Watched:
    def __init__(self, client: ToldClient, board: PendingBoard) -> None:
        self.client = client
        self.board = board
        self.news: list[News] = []
        board.listen(self.news.append)

    async def until(self, kind: type[News], count: int = 1) -> list[News]:
        """The news of a kind, as soon as there are so many."""
        with anyio.fail_after(PATIENCE_S):
            while len(found := [each for each in self.news if isinstance(each, kind)]) < count:
                await anyio.lowlevel.checkpoint()
        return found

    async def settled(self) -> None:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()

    def asked(self, request_id: str) -> Permission:
        [one] = [each for each in self.board.all if each.request_id == request_id]
        return Permission(one.permission)


@asynccontextmanager
async def watched(*prompts: v1.PendingPrompt) -> AsyncIterator[Watched]:
    client = ToldClient()
    here = Watched(client, client.board())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.board.run)
        for prompt in prompts:
            client.opened(prompt)
        await here.until(PromptOpened, len(prompts))
        yield here
        tasks.cancel_scope.cancel()


async def test_open_prompts_are_known_by_session_and_resolved_ones_are_reported_and_removed() -> None:
    async with watched(permission("a"), permission("b", "other")) as here:
        assert [each.request_id for each in here.board.all] == ["a", "b"]
        assert [each.request_id for each in here.board.of("other")] == ["b"]
        here.client.resolved("a", client_id="ada", resolution="answered", decision=v1.DENY)
        [closed] = await here.until(PromptClosed)
        assert isinstance(closed, PromptClosed)
        assert (closed.prompt.request_id, closed.resolved.client_id, closed.by_us) == ("a", "ada", False)
        assert [each.request_id for each in here.board.all] == ["b"]


async def test_quitting_waits_for_an_answer_in_transit_but_not_for_a_connection() -> None:
    async with watched(permission("a"), permission("b")) as here:
        here.client.gate = anyio.Event()
        assert here.board.answer(here.asked("a"), Allow())
        with anyio.move_on_after(0.01) as early:
            await here.board.settled()
        assert early.cancelled_caught
        here.client.gate.set()
        with anyio.fail_after(PATIENCE_S):
            await here.board.settled()
        assert here.client.answered == [("a", "ALLOW_ONCE")]
        here.client.linked(LinkState.BROKEN)
        here.client.outcomes = [unreachable()]
        assert here.board.answer(here.asked("b"), Allow())
        with anyio.fail_after(PATIENCE_S):
            await here.board.settled()
        assert here.board.delivery("b") is AnswerDelivery.WAITS_FOR_CONNECTION


async def test_an_answer_is_sent_once_and_not_reported_again() -> None:
    async with watched(permission("a")) as here:
        here.client.gate = anyio.Event()
        asked = here.asked("a")
        assert here.board.answer(asked, Allow())
        assert here.board.delivery("a") is AnswerDelivery.ON_ITS_WAY
        assert not here.board.answer(asked, Deny())
        here.client.gate.set()
        [closed] = await here.until(PromptClosed)
        assert isinstance(closed, PromptClosed)
        assert closed.by_us
        here.client.resolved("a", resolution="answered")
        await here.settled()
        assert here.client.answered == [("a", "ALLOW_ONCE")]
        assert len(await here.until(PromptClosed)) == 1
        assert not here.board.answer(asked, Allow())


async def test_a_refused_answer_is_reported_and_the_prompt_can_be_answered_again() -> None:
    async with watched(permission("a")) as here:
        here.client.outcomes = [refusal("a rule denies that"), None]
        here.board.answer(here.asked("a"), Allow())
        await here.settled()
        assert (here.board.failure("a"), here.board.delivery("a")) == ("a rule denies that", AnswerDelivery.NONE)
        here.board.answer(here.asked("a"), Deny())
        assert here.board.failure("a") == ""
        await here.until(PromptClosed)
        assert here.client.answered == [("a", "ALLOW_ONCE"), ("a", "DENY")]


async def test_the_other_client_is_named_when_our_answer_was_too_late() -> None:
    async with watched(permission("a")) as here:
        here.client.gate = anyio.Event()
        here.client.outcomes = [refusal("ada has denied it")]
        here.board.answer(here.asked("a"), Allow())
        here.client.resolved("a", client_id="ada", resolution="answered", decision=v1.DENY)
        await here.settled()
        assert not [each for each in here.news if isinstance(each, PromptClosed)]
        here.client.gate.set()
        [closed] = await here.until(PromptClosed)
        assert isinstance(closed, PromptClosed)
        assert (closed.resolved.client_id, closed.by_us) == ("ada", False)


async def test_an_answer_waits_for_the_connection() -> None:
    async with watched(permission("a")) as here:
        here.client.linked(LinkState.BROKEN)
        here.client.outcomes = [unreachable(), None]
        here.board.answer(here.asked("a"), Allow())
        await here.settled()
        assert here.board.delivery("a") is AnswerDelivery.WAITS_FOR_CONNECTION
        assert len(here.client.answered) == 1
        here.client.linked(LinkState.CONNECTED)
        [closed] = await here.until(PromptClosed)
        assert isinstance(closed, PromptClosed)
        assert closed.by_us
        assert len(here.client.answered) == 2


async def test_questions_of_a_group_are_open_until_the_last_is_answered() -> None:
    async with watched(questions("g", "Which?", "Why?")) as here:
        [group] = here.board.all
        which, why = (Question(each) for each in group.questions.questions)
        here.board.answer(which, Reply("red"))
        await here.settled()
        assert dict(here.board.all[0].questions.answers) == {"Which?": "red"}
        assert here.board.delivery("g") is AnswerDelivery.NONE
        here.board.answer(why, Reply("so"))
        await here.until(PromptClosed)
        assert here.client.answered == [("Which?", {"Which?": "red"}), ("Why?", {"Why?": "so"})]


async def test_answers_of_others_in_a_group_are_known_after_a_refusal() -> None:
    async with watched(questions("g", "Which?", "Why?")) as here:
        other = questions("g", "Which?", "Why?")
        other.questions.answers["Which?"] = "blue"
        here.client.now_open = [other]
        here.client.outcomes = [refusal("somebody answered blue")]
        here.board.answer(Question(here.board.all[0].questions.questions[0]), Reply("red"))
        await here.settled()
        assert here.board.failure("g") == "somebody answered blue"
        assert dict(here.board.all[0].questions.answers) == {"Which?": "blue"}


async def test_a_removed_listener_gets_no_changes() -> None:
    async with watched() as here:
        heard: list[News] = []
        stop = here.board.listen(heard.append)
        stop()
        here.client.opened(permission("a"))
        await here.until(PromptOpened)
        assert heard == []
        assert BoardChanged() in here.news
