"""A client made from the published text of the obey API alone, and a session of each kind of agent."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.obey_shell import ObeyShell, obey_shell
from support.patience import PATIENCE_S
from support.seed_client import client, stubs


@dataclass(frozen=True, slots=True)
class Kind:
    """How a session of a provider is made, and what it says."""

    number: int  # in the published list, or one that was added to it
    message: str
    reply: str
    config: Mapping[str, str] = field(default_factory=dict)


KINDS = {
    "claude": Kind(1, "say all is well", "all is well"),
    "demo": Kind(6, "hello", "demo"),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObeyShell]:
    with obey_shell(tmp_path_factory.mktemp("outsider")) as commands:
        assert commands.run("serve").returncode == 0
        yield commands


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stubs.compiled(tmp_path_factory.mktemp("stubs"))


def told(here: ObeyShell, published: Path, kind: Kind) -> Any:
    """What the outsider saw."""
    asked = {
        "campaign": here.campaign.id,
        "provider": kind.number,
        "message": kind.message,
        "config": dict(kind.config),
    }
    argv = [sys.executable, "-I", client.__file__, str(published), str(here.socket), json.dumps(asked)]
    done = subprocess.run(argv, env=here.environment, capture_output=True, text=True, timeout=4 * PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("provider", KINDS)
@pytest.mark.behaviour("obey.contract.messages", "obey.contract.rpcs", "obey.restart", "obey.watch.ends")
def test_an_outsider_makes_talks_to_watches_restarts_and_stops_a_session(
    here: ObeyShell, published: Path, provider: str
) -> None:
    seen = told(here, published, KINDS[provider])
    made = seen["created"]
    assert seen["modules"] == []
    assert made["status"] == "SESSION_STATUS_RUNNING"
    assert (made["agent_name"], made["festival_id"]) == ("outsider", "hedera-foundation-HF0001")
    assert (made["campaign_id"], made["working_dir"]) == (here.campaign.id, str(here.campaign.root))
    for sent in (seen["sent"], seen["sent_again"]):
        assert sent[-1]["type"] == "ACTIVITY_TYPE_COMPLETION"
        assert KINDS[provider].reply in sent[-1]["content"]
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
