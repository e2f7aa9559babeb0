"""Campaigns that cannot be relied on, by the API: a clear error each, and nothing is made or run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obey.local.v1 import local_pb2 as pb
from support.obey.campaigns import FIRST, RegistryFile, allow, make_campaign
from support.obey.daemon import Obeyed, refused
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

DEMO = pb.SESSION_PROVIDER_DEMO


@pytest.fixture
def registry(it: Obeyed) -> Iterator[RegistryFile]:
    """The daemon's own; it is as it was after the test."""
    found = RegistryFile(it.daemon.root / "home")
    before = found.path.read_text()
    found.entries = json.loads(before)["campaigns"]
    yield found
    found.write(before)


async def makes_and_runs_nothing(it: Obeyed, campaign: str, code: str, *words: str) -> None:
    """Neither a session nor a command begins, and both say why in a sentence."""
    before = await it.listed(include_terminated=True)
    calls = (
        it.stub.CreateSession(pb.CreateSessionRequest(campaign_id=campaign, provider=DEMO), timeout=PATIENCE_S),
        it.stub.Execute(pb.ExecuteRequest(campaign_id=campaign, command="touch", args=["ran"]), timeout=PATIENCE_S),
    )
    for call in calls:
        error = await refused(call)
        assert (error.reason, error.trailer) == (code, code)
        assert error.message.startswith(f"{code}: ")
        assert error.message.isprintable()
        for word in words:
            assert word in error.message
    assert await it.listed(include_terminated=True) == before
    assert list(it.daemon.root.rglob("ran")) == []


@pytest.mark.behaviour("obey.create.campaign-missing")
async def test_a_campaign_is_meant_by_one_word_only(it: Obeyed, registry: RegistryFile) -> None:
    base = it.daemon.root / "several"
    for number in (1, 2):
        allow(make_campaign(base / str(number), f"same-{number}", "twin").root, touch=True)
        registry.add(make_campaign(base / str(number), f"same-{number}", "twin"))
    await makes_and_runs_nothing(it, "twin", "OBEY-2001", "same-1 (twin)", "same-2 (twin)")
    await makes_and_runs_nothing(it, "same-", "OBEY-2001", "matches several campaigns")
    await makes_and_runs_nothing(it, "", "OBEY-2001")
    await makes_and_runs_nothing(it, "none\nsuch", "OBEY-2001", r"'none\nsuch'")


def broken_yaml(root: Path) -> None:
    (root / ".campaign/campaign.yaml").write_text("id: [\n")


def another_identity(root: Path) -> None:
    (root / ".campaign/campaign.yaml").write_text("id: somebody-else\n")


def link_elsewhere(root: Path) -> None:
    root.rename(root.with_name("moved"))
    root.symlink_to("/etc")


def linked_marker(root: Path) -> None:
    (root / ".campaign").rename(root.with_name("marker"))
    (root / ".campaign").symlink_to("../marker")


@pytest.mark.behaviour("obey.create.sandbox-error")
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (broken_yaml, "is not YAML"),
        (another_identity, "somebody-else"),
        (link_elsewhere, "/etc has no .campaign directory"),
        (linked_marker, "is a link"),
    ],
)
async def test_a_campaign_that_does_not_agree_is_not_used(
    it: Obeyed, registry: RegistryFile, tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    campaign = make_campaign(tmp_path / "odd")
    allow(campaign.root, touch=True)
    registry.add(campaign)
    spoil(campaign.root)
    await makes_and_runs_nothing(it, FIRST, "OBEY-2005", words)
    assert not (tmp_path / "odd/ran").exists()
    assert [each.id for each in (await it.stub.GetState(pb.StateRequest())).campaigns] == [it.campaign_id]


@pytest.mark.parametrize("odd", ["a b", "../up", "a\nb", "a;b", "ä"])
async def test_an_id_with_odd_characters_is_not_used(
    it: Obeyed, registry: RegistryFile, tmp_path: Path, odd: str
) -> None:
    make_campaign(tmp_path / "odd")
    registry.entries[odd] = {"name": "odd", "path": str(tmp_path / "odd")}
    registry.write(json.dumps({"campaigns": registry.entries}))
    await makes_and_runs_nothing(it, odd, "OBEY-2005", "letters, digits")
    await makes_and_runs_nothing(it, "odd", "OBEY-2005", "letters, digits")


async def test_a_broken_registry_stops_nothing_that_does_not_need_it(it: Obeyed, registry: RegistryFile) -> None:
    info = await it.create()
    registry.write('{"campaigns": {')
    await makes_and_runs_nothing(it, it.campaign_id, "OBEY-2005", "is not JSON, line 1")
    assert (await it.stub.Ping(pb.PingRequest())).campaign_count == 0
    assert (await it.get(info.id)).campaign_id == it.campaign_id
    await it.stop(info.id)


@pytest.mark.parametrize(
    "environment",
    [
        {"OBEY_SESSION_ID": "mine"},
        {"OBEY_X": ""},
        {"CAMP_ROOT": "/etc"},
        {"A": "one\ntwo"},
        {"A": "one\0two"},
        {"A\nOBEY_X": "x"},
        {"A=B": "x"},
        {"": "x"},
        {"A": "x" * 70_000},
    ],
)
async def test_variables_that_are_nobodys_to_set_make_nothing(it: Obeyed, environment: dict[str, str]) -> None:
    before = await it.listed(include_terminated=True)
    request = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=DEMO, environment=environment)
    error = await refused(it.stub.CreateSession(request, timeout=PATIENCE_S))
    assert (error.status, error.reason) == ("INVALID_ARGUMENT", "OBEY-2000")
    assert error.message.isprintable()
    assert await it.listed(include_terminated=True) == before


async def test_a_session_is_made_in_no_directory_outside(it: Obeyed, registry: RegistryFile) -> None:
    (it.root / "src/deep").mkdir(parents=True)
    (it.root / "out").symlink_to("/etc")
    (it.root / "file").touch()
    for text in ("..", "/etc", "out", "src/../..", "~", "file", "none", "a\0b"):
        before = await it.listed(include_terminated=True)
        request: Any = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=DEMO, working_dir=text)
        error = await refused(it.stub.CreateSession(request, timeout=PATIENCE_S))
        assert error.status == "INVALID_ARGUMENT", text
        assert await it.listed(include_terminated=True) == before
    for text in ("src/deep", str(it.root / "src/deep")):
        info = await it.create(working_dir=text)
        assert info.working_dir == str(it.root / "src/deep")
        assert info.campaign_id == it.campaign_id
        await it.stop(info.id)
