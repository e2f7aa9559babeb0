"""By whose word a tool was not used."""

import pytest
from msgspec import Raw

from betcode.providers.claude.denials import denied_by


def noted(decision: str) -> Raw:
    return Raw(b'[{"id":"other"},{"id":"t","permission_decision":%s}]' % decision.encode())


@pytest.mark.parametrize(
    ("decision", "by"),
    [
        ('{"decision":"reject","source":"user_reject"}', "answer"),
        ('{"decision":"reject","source":"hook","reason_type":"hook"}', "hook"),
        ('{"decision":"reject","source":"config","reason_type":"rule"}', "agent"),
        ('{"decision":"reject","source":"config","reason_type":"other"}', ""),
        ('{"decision":"reject","source":"permission_updated_input_invalid"}', ""),
        ('{"decision":"accept","source":"config","reason_type":"rule"}', ""),
        ('{"decision":null}', ""),
        ("null", ""),
        ('"odd"', ""),
    ],
)
def test_the_agents_note_tells_it_and_an_odd_one_nothing(decision: str, by: str) -> None:
    assert denied_by("t", noted(decision)) == by
    assert denied_by("another", noted(decision)) == ""
