"""Which versions come before which, and what follows from it for clients and agents."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode._version import __version__
from betcode.domain.release.compatibility import (
    AGENTS,
    CLIENTS,
    UNTESTED_CLIENT,
    AgentCompatibility,
    AgentRange,
    client_refusal,
    client_warnings,
)
from betcode.domain.values.versions import is_older, parsed
from betcode.v1 import version_pb2 as v1

ASCENDING = ("0.1.0-alpha.1", "0.1.0", "0.1.5", "0.2.0", "0.10.0")


@pytest.mark.behaviour("version.compare")
@pytest.mark.parametrize(("older", "newer"), list(itertools.combinations(ASCENDING, 2)))
def test_versions_are_compared_by_their_meaning(older: str, newer: str) -> None:
    assert is_older(older, newer)
    assert not is_older(newer, older)
    assert not is_older(older, older)


@pytest.mark.behaviour("version.compare")
def test_our_own_version_is_one_and_has_its_place() -> None:
    own = parsed(__version__)
    assert own is not None
    assert is_older(f"{__version__}-alpha.1", __version__)
    assert is_older(__version__, f"{own.major}.{own.minor + 1}.0")


@given(st.text(max_size=100))
def test_what_is_no_version_is_older_than_nothing_and_raises_nothing(text: str) -> None:
    if parsed(text) is None:
        assert not is_older(text, "999")
        assert not is_older("0", text)


def test_a_version_without_end_is_none() -> None:
    assert parsed("1" * 100_000) is None


def test_the_table_of_clients_takes_our_own_client() -> None:
    assert not client_refusal(__version__)
    assert not client_warnings(__version__)
    assert not is_older(CLIENTS.recommended, CLIENTS.minimum)
    assert not is_older(__version__, CLIENTS.recommended)
    assert is_older(__version__, CLIENTS.tested_before)


@pytest.mark.parametrize("version", ["0.0.9", "0.1.0-alpha.0", "0.1.0.dev1"])
def test_a_client_before_the_first_is_too_old(version: str) -> None:
    refusal = client_refusal(version)
    assert "too old" in refusal
    assert version in refusal
    assert CLIENTS.minimum in refusal


@pytest.mark.behaviour("version.negotiate.untested")
@pytest.mark.parametrize("version", ["0.3.0", "0.3.0-alpha.1", "1.0.0", "99.0", "dev", "", "eins"])
def test_a_client_that_nobody_tried_is_taken_with_a_warning(version: str) -> None:
    assert not client_refusal(version)
    assert client_warnings(version) == [UNTESTED_CLIENT]


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ("0.9.0", v1.INCOMPATIBLE),
        ("2.1.218", v1.INCOMPATIBLE),
        ("2.1.219", v1.DEGRADED),
        ("2.1.243", v1.DEGRADED),
        ("2.1.306", v1.DEGRADED),
        ("2.1.307", v1.LIKELY_COMPATIBLE),
        ("2.1.325", v1.FULLY_COMPATIBLE),
        ("2.1.400", v1.LIKELY_COMPATIBLE),
        ("3.0.0", v1.COMPATIBILITY_UNKNOWN),
        ("", v1.COMPATIBILITY_UNKNOWN),
        ("nonsense", v1.COMPATIBILITY_UNKNOWN),
    ],
)
def test_every_version_of_the_agent_has_its_level(version: str, level: v1.CompatibilityLevel.ValueType) -> None:
    claude = AGENTS["claude"]
    assert claude.level(version) == level
    assert bool(claude.refusal(version)) == (level == v1.INCOMPATIBLE)
    assert bool(claude.warning(version)) == (level == v1.DEGRADED), "what is missing is said"


def test_the_refusal_of_an_agent_names_both_versions() -> None:
    agent = AgentCompatibility("Claude Code", "1.0.20", (AgentRange("1.0.20", v1.DEGRADED),), "https://example.org")
    assert agent.refusal("0.9.0") == "Claude Code v0.9.0 < required v1.0.20"
    assert agent.level("1.0.20") == v1.DEGRADED


def test_the_ranges_of_every_agent_ascend_from_its_minimum() -> None:
    for agent in AGENTS.values():
        firsts = [parsed(each.first) for each in agent.ranges]
        assert None not in firsts
        assert firsts == sorted(firsts)  # type: ignore[type-var] # none is None
        assert agent.ranges[0].first == (agent.minimum or "0")


def test_an_agent_that_was_tried_in_one_version_is_refused_in_none() -> None:
    codex = AGENTS["codex"]
    found = [codex.level(version) for version in ("0.1.0", "0.166.0", "0.167.1", "1.0.0")]
    unknown = v1.COMPATIBILITY_UNKNOWN
    assert found == [unknown, v1.FULLY_COMPATIBLE, v1.LIKELY_COMPATIBLE, unknown]
    assert codex.refusal("0.1.0") == ""
