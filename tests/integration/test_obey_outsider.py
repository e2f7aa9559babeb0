"""A client built only from the published obey API, and a session with each provider."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.apis.openai.server import OpenAiApi, openai_api, script
from support.apis.openai.sessions import KEY, KEY_VARIABLE
from support.apis.openclaw.process import StandIn
from support.obey.command import ObeyShell, obey_shell
from support.obey.seed_client import client, stubs
from support.patience import PATIENCE_S
from support.plugins.wide import FROM_NPM, wide_where
from support.providers.acp_session import command
from support.providers.codex import codex_environment


@dataclass(frozen=True, slots=True)
class Kind:
    """How a session of a provider is made, and what it says."""

    provider: int  # its number in the published list, or one that was added to it
    message: str
    reply: str
    config: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    model: str = ""


def claude(_here: ObeyShell, _api: OpenAiApi) -> Kind:
    return Kind(1, "say all is well", "all is well")


def demo(_here: ObeyShell, _api: OpenAiApi) -> Kind:
    return Kind(6, "hello", "demo", environment={"BETCODE_DEMO_SPEED": "0"})


def acp(_here: ObeyShell, _api: OpenAiApi) -> Kind:
    return Kind(5, "say all is well", "all is well", {"command": command()})


def openai(_here: ObeyShell, api: OpenAiApi) -> Kind:
    config = {"base_url": api.base_url, "api_key_env": KEY_VARIABLE, "wire_api": "responses"}
    return Kind(4, script({"text": "All is well."}), "All is well.", config, {KEY_VARIABLE: KEY}, "stand-in")


def codex(here: ObeyShell, api: OpenAiApi) -> Kind:
    environment = codex_environment(here.daemon.root / "codex-home", api.base_url)
    return Kind(3, script({"text": "All is well."}), "All is well.", environment=environment)


def openclaw(_here: ObeyShell, _api: OpenAiApi) -> Kind:
    return Kind(2, script({"text": "All is well."}), "All is well.")


KINDS = {make.__name__: make for make in (claude, openclaw, codex, openai, acp, demo)}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObeyShell]:
    gateway = StandIn(tmp_path_factory.mktemp("gateway"))
    settings = {"agents": {"openclaw": {"url": gateway.url, "token_file": str(gateway.token_file)}}}
    gateway.start()
    try:
        with ThreadPoolExecutor(1) as apart:  # this thread has a loop of its own
            apart.submit(anyio.run, gateway.serves).result()
        with obey_shell(tmp_path_factory.mktemp("outsider"), settings) as commands:
            commands.told("serve")
            yield commands
    finally:
        gateway.kill()


@pytest.fixture(scope="module")
def api() -> Iterator[OpenAiApi]:
    with openai_api() as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stubs.compiled(tmp_path_factory.mktemp("stubs"))


def told(here: ObeyShell, published: Path, kind: Kind) -> Any:
    """What the outsider saw."""
    asked = {"campaign": here.campaign.id, **asdict(kind)}
    argv = [sys.executable, "-I", client.__file__, str(published), str(here.socket), json.dumps(asked)]
    done = subprocess.run(argv, env=here.environment, capture_output=True, text=True, timeout=4 * PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("provider", wide_where(KINDS, FROM_NPM.__contains__))
@pytest.mark.behaviour("obey.contract.messages", "obey.contract.rpcs", "obey.restart", "obey.watch.ends")
def test_an_outsider_makes_talks_to_watches_restarts_and_stops_a_session(
    here: ObeyShell, published: Path, api: OpenAiApi, provider: str
) -> None:
    kind = KINDS[provider](here, api)
    seen = told(here, published, kind)
    made = seen["created"]
    assert seen["modules"] == []
    assert made["status"] == "SESSION_STATUS_RUNNING"
    assert (made["agent_name"], made["festival_id"]) == ("outsider", "hedera-foundation-HF0001")
    assert (made["campaign_id"], made["working_dir"]) == (here.campaign.id, str(here.campaign.root))
    for sent in (seen["sent"], seen["sent_again"]):
        assert sent[-1]["type"] == "ACTIVITY_TYPE_COMPLETION"
        assert kind.reply in sent[-1]["content"]
        assert {one["session_id"] for one in sent} == {made["id"]}
    assert made["id"] in seen["listed"]
    assert made["id"] in [one["id"] for one in seen["state"]["active_sessions"]]
    assert (seen["restarted"]["id"], seen["restarted"]["restart_count"]) == (made["id"], 1)
    assert seen["stopped"]["status"] == "SESSION_STATUS_STOPPED"
    assert made["id"] not in seen["listed_afterwards"]
    assert seen["refused"][0] == "FAILED_PRECONDITION"
    assert seen["refused"][1].startswith("OBEY-2020: ")
    assert seen["refused"][2:] == ["OBEY-2020"]
    _statuses(seen, made["id"])


def _statuses(seen: Any, session_id: str) -> None:
    """Every change follows on the one before, to the end; whoever watches all sees the same."""
    steps = [(one["previous_status"], one["new_status"]) for one in seen["statuses"]]
    short = [after.removeprefix("SESSION_STATUS_") for _, after in steps]
    assert short[-2:] == ["STOPPING", "STOPPED"]
    assert short.count("WORKING") == 2
    assert all(before == after for (_, after), (before, _) in pairwise(steps))
    of_all = [one["new_status"] for one in seen["of_all"] if one["session_id"] == session_id]
    assert of_all[-len(steps) + 1 :] == [after for _, after in steps][1:]
