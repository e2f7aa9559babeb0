"""The list of behaviours and the tests agree."""

from pathlib import Path

import pytest
from behaviours import DONE, Behaviour, Citation, behaviours, citations, not_shown, unknown

KNOWN = {
    "a.shown": Behaviour("a.shown", "It is shown.", "01"),
    "a.later": Behaviour("a.later", "It comes later.", "02"),
}


@pytest.fixture(scope="module")
def known() -> dict[str, Behaviour]:
    return behaviours()


@pytest.fixture(scope="module")
def cited() -> list[Citation]:
    """What all tests cite, read once: it takes seconds."""
    return citations()


def test_every_behaviour_of_the_finished_milestones_is_cited_by_a_test(
    known: dict[str, Behaviour], cited: list[Citation]
) -> None:
    assert [behaviour.id for behaviour in not_shown(known, cited)] == []


def test_no_test_cites_a_behaviour_that_does_not_exist(known: dict[str, Behaviour], cited: list[Citation]) -> None:
    assert unknown(known, cited) == []


def test_every_behaviour_belongs_to_a_milestone_and_only_windows_has_none_yet(known: dict[str, Behaviour]) -> None:
    assert {behaviour.issue for behaviour in known.values()} == DONE | {"11", "12", "13", "14", "later"}
    assert all("windows" in behaviour.id for behaviour in known.values() if behaviour.issue == "later")


def test_markers_are_found_wherever_they_stand(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    (tests / "deep").mkdir(parents=True)
    mark = "pytest.mark.behaviour"  # spelled apart, so that these ids are not taken for citations
    (tests / "deep" / "test_it.py").write_text(
        f"import pytest\n@{mark}('a.shown', 'a.later')\ndef test_it(): ...\n"
        f"ROWS = [pytest.param(1, marks={mark}('b.row'))]\npytestmark = [{mark}('b.module')]\n"
    )
    assert {(citation.id, citation.place) for citation in citations(tests)} == {
        ("a.shown", "tests/deep/test_it.py:2"),
        ("a.later", "tests/deep/test_it.py:2"),
        ("b.row", "tests/deep/test_it.py:4"),
        ("b.module", "tests/deep/test_it.py:5"),
    }


def test_a_finished_milestone_without_a_test_is_reported() -> None:
    assert not_shown(KNOWN, [], done=frozenset({"01"})) == [KNOWN["a.shown"]]
    assert not_shown(KNOWN, [Citation("a.shown", "here")], done=frozenset({"01"})) == []


def test_a_cited_stranger_is_reported() -> None:
    stranger = Citation("a.typo", "tests/test_it.py:1")
    assert unknown(KNOWN, [Citation("a.later", "here"), stranger]) == [stranger]


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "behaviours.yaml"
    path.write_text("a:\n  - {id: a.b, says: One., issue: '01'}\n  - {id: a.b, says: Two., issue: '01'}\n")
    with pytest.raises(ValueError, match=r"a\.b twice"):
        behaviours(path)
