"""What is noticed about requests: unknown fields, deprecated parts, features they count on."""

import logging
from datetime import date

import pytest

from betcode.domain.errors import FeatureNotAvailable
from betcode.domain.metrics.request_counts import RequestCounts
from betcode.domain.release.deprecations import DeprecatedKind, Deprecation, months_later
from betcode.domain.release.features import Feature, FeatureFlags
from betcode.server.request_checks import DeprecatedUses, RequestInspector, parts_used, unknown_fields
from betcode.server.rpc import decode
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2

LATER = b"\xf2\x3f\x05later"  # field 1022, a text
LATER_NUMBER = b"\xf8\x3f\x07"  # field 1023, a number


def gone(feature: str, kind: DeprecatedKind) -> Deprecation:
    day = date(2027, 1, 1)
    end = months_later(day, 24)
    return Deprecation(feature, kind, "something new", day, day, "0.2.5", day, end, "0.4.0", "place")


def inspector(*records: Deprecation, features: tuple[Feature, ...] = ()) -> tuple[RequestInspector, RequestCounts]:
    counts = RequestCounts()
    return RequestInspector(FeatureFlags("0.2.5", table=features, deprecations=records), counts), counts


def nested() -> bytes:
    """A request with unknown fields on three levels."""
    attachment = v1.Attachment(filename="a").SerializeToString() + LATER
    message = v1.UserMessage(content="hello").SerializeToString() + b"\x12" + bytes([len(attachment)]) + attachment
    return b"\x12" + bytes([len(message)]) + message + LATER_NUMBER


@pytest.mark.behaviour("unknown-fields.daemon.logged", "unknown-fields.daemon.counted")
def test_a_request_with_unknown_fields_is_counted_once_and_its_numbers_logged(caplog: pytest.LogCaptureFixture) -> None:
    looked, counts = inspector()
    with caplog.at_level(logging.DEBUG, "betcode.server.request_checks"):
        looked.inspect(decode(v1.AgentRequest, nested()), DeprecatedUses())
    assert counts.unknown_fields_received == 1
    (entry,) = caplog.records
    assert entry.levelno == logging.DEBUG
    assert "AgentRequest 1023" in entry.getMessage()
    assert "Attachment 1022" in entry.getMessage()
    assert "later" not in entry.getMessage(), "what stands in them is nobody's business"


def test_a_request_without_any_is_neither_counted_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    looked, counts = inspector()
    request = v1.AgentRequest(message=v1.UserMessage(content="x", attachments=[v1.Attachment(data=b"y")]))
    with caplog.at_level(logging.DEBUG):
        looked.inspect(request, DeprecatedUses())
    assert counts == RequestCounts()
    assert not caplog.records


def test_unknown_fields_in_maps_and_repeated_messages_are_found() -> None:
    attachment = v1.Attachment(filename="a").SerializeToString() + LATER
    message = v1.UserMessage.FromString((b"\x12" + bytes([len(attachment)]) + attachment) * 2)
    assert list(unknown_fields(message)) == [("Attachment", 1022)] * 2


def test_what_is_read_and_written_again_has_them_still() -> None:
    data = nested()
    request = decode(v1.AgentRequest, data)
    assert request.SerializeToString() == data
    copy = v1.AgentRequest()
    copy.CopyFrom(request)
    assert list(unknown_fields(copy)) == list(unknown_fields(request))
    kept = v1.SubmitRequest(session_id="s", request=request)
    assert LATER_NUMBER in v1.SubmitRequest.FromString(kept.SerializeToString()).SerializeToString()


def test_of_more_unknown_fields_than_anybody_reads_their_size_alone_is_told(caplog: pytest.LogCaptureFixture) -> None:
    looked, counts = inspector()
    data = LATER_NUMBER * 10_000
    with caplog.at_level(logging.DEBUG, "betcode.server.request_checks"):
        looked.inspect(decode(v1.AgentRequest, data), DeprecatedUses())
    assert counts.unknown_fields_received == 1
    assert [entry.getMessage() for entry in caplog.records] == [f"AgentRequest has {len(data)} bytes of unknown fields"]


def test_a_large_request_with_one_unknown_field_is_counted_and_the_field_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looked, counts = inspector()
    data = v1.AgentRequest(message=v1.UserMessage(content="x" * 100_000)).SerializeToString() + LATER_NUMBER
    with caplog.at_level(logging.DEBUG, "betcode.server.request_checks"):
        looked.inspect(decode(v1.AgentRequest, data), DeprecatedUses())
    assert counts.unknown_fields_received == 1
    assert "AgentRequest 1023" in caplog.text


def test_of_many_messages_in_a_request_the_first_are_looked_at() -> None:
    attachment = b"\x12" + bytes([len(LATER)]) + LATER
    assert len(list(unknown_fields(v1.UserMessage.FromString(attachment * 2_000)))) == 999
    assert len(list(parts_used(v1.UserMessage(attachments=[v1.Attachment(filename="a")] * 2_000)))) == 1_000


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        ("betcode.v1.CancelRequest.reason", DeprecatedKind.FIELD),
        ("betcode.v1.AgentRequest.cancel", DeprecatedKind.FIELD),
    ],
)
def test_a_deprecated_field_is_noticed_where_it_is_used(feature: str, kind: DeprecatedKind) -> None:
    looked, counts = inspector(gone(feature, kind))
    uses = DeprecatedUses()
    looked.inspect(v1.AgentRequest(cancel=v1.CancelRequest(reason="tired")), uses)
    looked.inspect(v1.AgentRequest(message=v1.UserMessage(content="x")), DeprecatedUses())
    (told,) = uses.take()
    assert told.feature == feature
    assert counts.deprecations_used == {feature: 1}


def test_a_deprecated_enum_value_is_noticed() -> None:
    response = v1.PermissionResponse(request_id="r", decision=v1.DENY)
    assert "betcode.v1.DENY" in parts_used(response)
    looked, counts = inspector(gone("betcode.v1.DENY", DeprecatedKind.ENUM_VALUE))
    looked.inspect(v1.AgentRequest(permission=response), DeprecatedUses())
    looked.inspect(v1.AgentRequest(permission=v1.PermissionResponse(decision=v1.ALLOW_ONCE)), DeprecatedUses())
    assert counts.deprecations_used == {"betcode.v1.DENY": 1}


@pytest.mark.parametrize(
    ("feature", "kind"),
    [("betcode.v1.AgentService.ListSessions", DeprecatedKind.RPC), ("betcode.v1.AgentService", DeprecatedKind.SERVICE)],
)
def test_a_deprecated_call_or_service_is_noticed_and_still_let_through(feature: str, kind: DeprecatedKind) -> None:
    looked, counts = inspector(gone(feature, kind))
    uses = DeprecatedUses()
    looked.admit("betcode.v1.AgentService.ListSessions", (), uses)
    looked.admit("betcode.v1.VersionService.GetVersion", (), uses)
    assert [told.feature for told in uses.take()] == [feature]
    assert counts.deprecations_used == {feature: 1}


def test_each_thing_is_told_once_in_a_call_and_counted_each_time() -> None:
    looked, counts = inspector(gone("betcode.v1.CancelRequest.reason", DeprecatedKind.FIELD))
    uses = DeprecatedUses()
    request = v1.AgentRequest(cancel=v1.CancelRequest(reason="tired"))
    for _ in range(3):
        looked.inspect(request, uses)
    assert len(uses.take()) == 1
    assert not uses.take()
    assert counts.deprecations_used.total() == 3


@pytest.mark.behaviour("feature.gate")
def test_a_call_of_a_feature_that_is_off_is_refused_with_the_setting() -> None:
    gated = Feature("young", "Something young", "", version_pb2.ALPHA, "0.1.0", calls=("betcode.v1.SubagentService",))
    looked, _ = inspector(features=(gated,))
    for method, relied_on in (("betcode.v1.SubagentService.Any", ()), ("betcode.v1.AgentService.Any", ("young",))):
        with pytest.raises(FeatureNotAvailable) as refused:
            looked.admit(method, relied_on, DeprecatedUses())
        assert "feature_flags.young" in refused.value.message
        assert refused.value.details["setting"] == "feature_flags.young"
    looked.admit("betcode.v1.AgentService.Any", (), DeprecatedUses())
