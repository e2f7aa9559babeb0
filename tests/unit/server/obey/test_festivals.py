"""What reports of festivals come to: as much as one answer can hold, whatever was reported."""

import json

from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.server.obey.festivals import festivals_of
from obey.local.v1 import local_pb2 as pb

_TAKEN_AT_ONCE = 4 * 1024 * 1024  # by a client with default options


def made(number: int, **said: object) -> CampaignEvent:
    payload = json.dumps(said).encode()
    return CampaignEvent(str(number), "c", "FESTIVAL_CREATED", payload, 1, 1, f"F{number:04}" + "x" * 1000)


def test_many_festivals_with_long_names_fit_into_an_answer() -> None:
    long = "n" * 60_000
    shown = festivals_of(made(number, name="n" * 900 if number else long, status="s") for number in range(5_000))
    assert pb.StateResponse(festivals=shown).ByteSize() < _TAKEN_AT_ONCE // 2
    assert shown[-1].id.startswith("F4999"), "the last are shown"
    assert shown[-1].name.startswith("nnn")


def test_what_is_no_text_is_not_shown() -> None:
    (shown,) = festivals_of([made(1, name="\ud800", status=["active"], tasks_total=True)])
    assert (shown.name, shown.status) == (shown.id, "planned")
    assert shown.tasks_total == 0
