"""Open prompts as people see them in a list."""

from betcode.cli.pending_words import short_request_ids


def test_an_id_is_as_short_as_it_can_be_told_from_the_others() -> None:
    ids = ["abcdefgh-1", "abcdefgh-1-more", "abcdefxx-long-tail", "short", "0123456789", "0123456789"]
    assert short_request_ids(ids) == {
        "0123456789": "01234567",
        "abcdefgh-1": "abcdefgh-1",
        "abcdefgh-1-more": "abcdefgh-1-m",
        "abcdefxx-long-tail": "abcdefxx",
        "short": "short",
    }
