"""What processes of an agent try, to act as a person: every method of every face, and every disguise."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.server.auth.access import TABLE, Access, access_of
from betcode.server.server import contract_services
from betcode.v1 import agent_pb2 as v1
from support.attacks import inside_attempts
from support.daemon.audit_rows import gate_rows, has_lineage
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import Talk, settled_text
from support.daemon.tcp import LOOPBACK, address_of, token_file
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

UNBUILT = {"GitLabService", "MachineService", "SubagentService", "TunnelService"}
REFUSED = "PERMISSION_DENIED"


@dataclass(frozen=True, slots=True)
class Attacked:
    """A daemon with a session that asks a person, and another whose agent does what it is told."""

    daemon: Daemon
    client: Client
    victim: Talk
    request: v1.PermissionRequest

    async def attempt(self, name: str) -> str:
        """What the tool printed."""
        attacker = await self.session()
        plan = await self.plan(name)
        await attacker.turn(f"spawn {sys.executable} -P {inside_attempts.__file__} {plan} {name}")
        return settled_text(attacker.events)

    async def session(self) -> Talk:
        new = NewConversation(str(self.daemon.work), provider="claude")
        return Talk(self.client, await self.client.start_session(new))

    async def plan(self, name: str) -> Path:
        paths, directory = self.daemon.paths, self.daemon.root
        said = {
            "socket": str(paths.socket),
            "tickets": str(paths.ticket_socket),
            "obey": str(directory / "obey.sock"),
            "tcp": str(await address_of(self.daemon)),
            "token": str(token_file(self.daemon)),
            "runs": str(paths.runs),
            "session": self.victim.session_id,
            "request": self.request.request_id,
            "daemon": str(self.daemon.pid),
            "report": str(directory / f"{name}.report"),
        }
        path = directory / f"{name}.plan"
        path.write_text(json.dumps(said))
        return path

    async def report(self, name: str) -> dict[str, Any]:
        path = self.daemon.root / f"{name}.report"
        with anyio.fail_after(PATIENCE_S):
            while not path.exists():  # noqa: ASYNC110 nothing announces it
                await anyio.sleep(0.02)
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def refusals(self) -> list[Mapping[str, str]]:
        return gate_rows(self.daemon)

    async def assert_nothing_happened(self) -> None:
        assert [prompt.request_id for prompt in await self.client.pending(self.victim.session_id)] == [
            self.request.request_id
        ]
        assert not (self.daemon.root / "victim" / "ran.txt").exists()
        history = await self.client.read_events(self.victim.session_id)
        assert [event.user_input.content for event in history.events if event.HasField("user_input")] == ["tool"]


@asynccontextmanager
async def attacked(root: Path) -> AsyncIterator[Attacked]:
    settings = {"daemon": {**LOOPBACK}, "obey": {"socket": str(root / "obey.sock")}}
    async with obedient_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
        (root / "victim").mkdir()
        new = NewConversation(str(root / "victim"), provider="claude")
        victim = Talk(client, await client.start_session(new))
        await victim.say("tool")
        request = await victim.asked()
        yield Attacked(daemon, client, victim, request)


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Attacked]:
    async with attacked(tmp_path_factory.mktemp("attacked")) as here:
        yield here


def test_every_method_is_in_the_table() -> None:
    """A new method is refused until somebody decides about it, and this test asks for the decision."""
    known = {method.full_name for service in contract_services() for method in service.methods}
    undecided = {name for name in known - set(TABLE) if name.split(".")[-2] not in UNBUILT}
    assert not undecided
    assert set(TABLE) <= known, "the table names only methods that there are"
    assert access_of("betcode.v1.AgentService.Whatever") is Access.PERSON


async def test_every_method_is_allowed_or_refused_according_to_the_table(here: Attacked) -> None:
    text = await here.attempt("methods")
    assert text.startswith("{"), text
    found: dict[str, dict[str, str]] = json.loads(text)
    assert set(found) == {"socket", "tcp", "obey"}
    wrong = []
    for face, methods in found.items():
        for method, code in methods.items():
            if method.split(".")[-2] in UNBUILT:
                continue
            is_refused = code == REFUSED
            if is_refused != (access_of(method) is Access.PERSON) or code == "UNAVAILABLE":
                wrong.append((face, method, code))
    assert wrong == []
    rows = here.refusals()
    for method, access in TABLE.items():
        name = method.rpartition(".")[2]
        seen = [row for row in rows if f": {name}" in row["note"]]
        if access is Access.PERSON:
            assert seen, f"{name} is not in the audit"
        # What is sent in a conversation and CreateWorktree are decided by their request: see the test below, and
        # test_worktrees_from_inside.py.
        if access is not Access.READ and access is not Access.BY_REQUEST:
            assert all(map(has_lineage, seen)), seen
        if access is Access.REPORT:
            assert {row["outcome"] for row in seen} == {"allowed"}
    await here.assert_nothing_happened()


async def test_a_conversation_may_be_watched_and_nothing_sent(here: Attacked) -> None:
    before = len(here.refusals())
    found = json.loads(await here.attempt("conversation"))
    assert found.pop("watch") == "OK"
    assert found == dict.fromkeys(("message", "permission", "question", "cancel", "start"), "ANSWER_REFUSED")
    rows = here.refusals()[before:]
    assert [row["outcome"] for row in rows] == ["refused"] * len(found), "one for each, and none for watching"
    assert all(map(has_lineage, rows)), rows
    asked = here.request.request_id
    assert [row["request_id"] for row in rows] == ["", asked, asked, "", ""]
    await here.assert_nothing_happened()


async def test_a_tcp_connection_that_no_process_has_open_is_refused(here: Attacked) -> None:
    attacker = await here.session()
    await attacker.say(f"spawn {sys.executable} -P {inside_attempts.__file__} {await here.plan('in_flight')} in_flight")
    await becomes_true(lambda: any("an unknown process at 127.0.0.1:" in row["peer"] for row in here.refusals()))
    await here.assert_nothing_happened()


GENTLE = sorted(name for name in inside_attempts.DISGUISES if "killed" not in name)
BRUTAL = sorted(name for name in inside_attempts.DISGUISES if "killed" in name)


@pytest.mark.parametrize("disguise", GENTLE)
async def test_no_disguise_makes_an_agents_process_a_person(here: Attacked, disguise: str) -> None:
    await assert_refused(here, disguise)


@pytest.mark.parametrize("disguise", BRUTAL)
async def test_nor_does_the_end_of_its_holder(tmp_path: Path, disguise: str) -> None:
    async with attacked(tmp_path) as here:
        await assert_refused(here, disguise)


async def assert_refused(here: Attacked, disguise: str) -> None:
    attacker = await here.session()
    plan = await here.plan(disguise)
    await attacker.say(f"spawn {sys.executable} -P {inside_attempts.__file__} {plan} {disguise}")
    found = await here.report(disguise)
    pid = found.pop("pid", 0)
    assert found == {"socket": REFUSED, "submit": REFUSED, "tcp": REFUSED, "ticket": "refused"}
    await becomes_true(lambda: len([row for row in here.refusals() if f"pid {pid} (" in row["peer"]]) >= 4)
    rows = [row for row in here.refusals() if f"pid {pid} (" in row["peer"]]
    assert all("start time" in row["peer"] for row in rows), "with lineage"
    await here.assert_nothing_happened()
