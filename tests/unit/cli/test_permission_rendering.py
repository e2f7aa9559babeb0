"""Open prompts in a list."""

from datetime import UTC, datetime

from betcode.cli.permission.rendering import pending_json, short_request_ids
from betcode.v1 import agent_pb2 as v1


def test_nothing_was_asked_in_the_future() -> None:
    one = v1.PendingPrompt(request_id="a")
    one.asked_at.FromDatetime(datetime(2026, 11, 15, 14, 56, 44, 434000, UTC))
    one.expires_at.FromDatetime(datetime(2026, 11, 22, 14, 56, 44, 434000, UTC))
    shown = pending_json(one)
    assert (shown["asked_at"], shown["expires_at"]) == ("2026-11-15T14:56:44Z", "2026-11-22T14:56:45Z")


def test_an_id_is_shortened_to_a_unique_prefix() -> None:
    ids = ["abcdefgh-1", "abcdefgh-1-more", "abcdefxx-long-tail", "short", "0123456789", "0123456789"]
    assert short_request_ids(ids) == {
        "0123456789": "01234567",
        "abcdefgh-1": "abcdefgh-1",
        "abcdefgh-1-more": "abcdefgh-1-m",
        "abcdefxx-long-tail": "abcdefxx",
        "short": "short",
    }
