"""An exit record of any content is a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.exit_record import UNREADABLE, ExitRecord, parse_exit

DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (b'{"code": 3, "signal": null, "asked": false, "errno": null, "error": null}', ExitRecord(code=3)),
        (b'{"code": null, "signal": "SIGKILL"}', ExitRecord(signal="SIGKILL")),
        (b'{"error": "No such file or directory", "errno": 2}', ExitRecord(error="No such file or directory")),
        (b"{}", ExitRecord()),
        (b'{"code": "3", "signal": 9, "error": []}', ExitRecord()),
        (b'{"code": true}', ExitRecord()),
        (b'{"code": ' + b"9" * 4000 + b"}", ExitRecord()),
        (b'{"code": ' + b"9" * 5000 + b"}", UNREADABLE),
        (b"[]", UNREADABLE),
        (b"null", UNREADABLE),
        (b'"exit"', UNREADABLE),
        (b"", UNREADABLE),
        (b"\xff\xfe\x00", UNREADABLE),
        (DEEP, UNREADABLE),
        (DEEP[:60_000], UNREADABLE),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, UNREADABLE),
        (b'{"error": "' + b"x" * 100_000 + b'"}', UNREADABLE),
    ],
)
def test_each_record_is_a_value(data: bytes, record: ExitRecord) -> None:
    assert parse_exit(data) == record


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    assert parse_exit(data).note


@pytest.mark.parametrize(
    ("record", "note"),
    [
        (ExitRecord(code=3), "exit code 3"),
        (ExitRecord(signal="SIGKILL"), "killed by signal SIGKILL"),
        (ExitRecord(error="Permission denied"), "Permission denied"),
        (UNREADABLE, "its exit status is unknown"),
    ],
)
def test_an_end_is_described(record: ExitRecord, note: str) -> None:
    assert record.note == note
