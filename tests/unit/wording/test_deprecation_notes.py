"""Deprecation warnings, by the time until removal, each once."""

import logging

import pytest

from betcode.v1 import agent_pb2, version_pb2
from betcode.wording.deprecation_notes import DeprecationNotes
from betcode.wording.render import Describer


def warning(severity: version_pb2.Severity.ValueType, feature: str = "old_format") -> version_pb2.DeprecationWarning:
    return version_pb2.DeprecationWarning(
        feature=feature,
        replacement="the new format",
        removal_version="0.4.0",
        migration_url="https://example.org/migration#old",
        severity=severity,
    )


@pytest.mark.behaviour("deprecation.client.info")
@pytest.mark.parametrize("severity", [version_pb2.INFO, version_pb2.SEVERITY_UNKNOWN])
def test_a_distant_removal_is_only_logged(
    severity: version_pb2.Severity.ValueType, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert DeprecationNotes().lines(warning(severity)) == []
    assert "old_format" in caplog.text


@pytest.mark.behaviour("deprecation.client.warning-once")
def test_a_warning_is_shown_once_for_each_feature() -> None:
    notes = DeprecationNotes()
    (line,) = notes.lines(warning(version_pb2.WARNING))
    assert "old_format is deprecated" in line
    assert "the new format" in line
    assert notes.lines(warning(version_pb2.WARNING)) == []
    assert notes.lines(warning(version_pb2.WARNING, "another"))


@pytest.mark.behaviour("deprecation.client.urgent")
def test_a_near_removal_is_prominent_with_its_version_and_guide() -> None:
    lines = DeprecationNotes().lines(warning(version_pb2.URGENT))
    assert lines[0] == "ACTION REQUIRED"
    assert "will stop working in 0.4.0" in lines[1]
    assert "https://example.org/migration#old" in lines[2]


@pytest.mark.behaviour("deprecation.client.warning-once")
def test_the_event_of_a_stream_and_the_trailer_of_a_call_are_one_warning() -> None:
    notes = DeprecationNotes()
    describer = Describer(notes)
    event = agent_pb2.AgentEvent(deprecation=warning(version_pb2.WARNING))
    assert len(describer.describe(event)) == 1
    assert describer.describe(event) == []
    assert notes.lines(warning(version_pb2.WARNING)) == []
