"""Identifiers: one value, two spellings."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.values.identifiers import (
    NotAnIdentifier,
    SessionId,
    new_session_id,
    parse_session_id,
    time_ordered_uuid,
    ulid_spelling,
)


@given(st.uuids())
def test_both_spellings_mean_the_same_session(value: uuid.UUID) -> None:
    session = SessionId(str(value))
    assert parse_session_id(ulid_spelling(session)) == session
    assert parse_session_id("sess_" + ulid_spelling(session)[5:].lower()) == session
    assert parse_session_id(str(value).upper()) == session


def test_later_identifiers_sort_after_earlier_ones() -> None:
    early = time_ordered_uuid()
    moment = uuid.UUID(early).int >> 80
    while uuid.UUID(late := time_ordered_uuid()).int >> 80 == moment:
        pass
    assert early < late


def test_an_identifier_is_a_uuid_of_version_7() -> None:
    value = uuid.UUID(new_session_id())
    assert value.version == 7
    assert value.variant == uuid.RFC_4122


@given(st.text(max_size=60))
def test_other_text_is_refused_and_never_half_read(text: str) -> None:
    try:
        session = parse_session_id(text)
    except NotAnIdentifier:
        return
    assert str(uuid.UUID(session)) == session


@pytest.mark.parametrize("text", ["", "sess_", "sess_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "{" + "0" * 34 + "}", "0" * 32])
def test_what_looks_like_an_identifier_but_is_none_is_refused(text: str) -> None:
    with pytest.raises(NotAnIdentifier):
        parse_session_id(text)
