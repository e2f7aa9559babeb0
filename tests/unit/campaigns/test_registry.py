"""The registry of campaigns: what is meant by a word, and what is said of one that cannot be relied on."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.campaigns.registry import Entry, Registry, read_registry, registry_path
from betcode.domain.obey.campaign_errors import AmbiguousCampaign, CampaignNotFound

IDS = st.text("0123abc-", min_size=1, max_size=6)
NAMES = st.text("ab1", min_size=1, max_size=3)


def registry(*entries: tuple[str, str]) -> Registry:
    return Registry(Path("/r"), tuple(Entry(each, name, "/x") for each, name in entries))


def read(tmp_path: Path, text: str) -> Registry:
    path = tmp_path / "registry.json"
    path.write_text(text)
    return read_registry(path)


def troubles(tmp_path: Path, **campaigns: object) -> dict[str, str]:
    found = read(tmp_path, json.dumps({"version": 3, "campaigns": campaigns}))
    assert not found.trouble
    return {entry.id: entry.trouble for entry in found.entries}


@given(st.dictionaries(IDS, NAMES, max_size=5), st.one_of(IDS, NAMES))
def test_what_is_found_is_what_was_meant_and_nothing_else(known: dict[str, str], text: str) -> None:
    begun = [each for each in known if each.startswith(text)]
    named = [each for each, name in known.items() if name == text]
    asked = registry(*known.items())
    if text in known:
        assert asked.meant(text).id == text
    elif (named and len(begun) > 1) or len({*begun, *named}) <= 1:
        meant = named if named and len(begun) > 1 else [*{*begun, *named}]
        if len(meant) == 1:
            assert asked.meant(text).id == meant[0]
        else:
            with pytest.raises(AmbiguousCampaign if meant else CampaignNotFound):
                asked.meant(text)
    else:
        with pytest.raises(AmbiguousCampaign):
            asked.meant(text)


def test_a_beginning_of_two_ids_names_both_of_them() -> None:
    with pytest.raises(AmbiguousCampaign, match=r"'ab' matches several campaigns: ab1 \(x\), ab2 \(y\)"):
        registry(("ab1", "x"), ("ab2", "y"), ("c", "z")).meant("ab")


def test_a_name_that_two_campaigns_have_names_both_ids() -> None:
    with pytest.raises(AmbiguousCampaign, match=r"id-1 \(same\), id-2 \(same\)"):
        registry(("id-1", "same"), ("id-2", "same")).meant("same")
    assert registry(("id-1", "same"), ("id-2", "same")).meant("id-2").id == "id-2"


def test_a_name_that_begins_the_id_of_another_is_not_guessed() -> None:
    with pytest.raises(AmbiguousCampaign):
        registry(("face123", "x"), ("other", "face")).meant("face")


@pytest.mark.parametrize("text", ["", "none", "a\nb", "*", "../..", "\ud800"])
def test_what_nobody_is_called_is_not_found(text: str) -> None:
    with pytest.raises(CampaignNotFound):
        registry(("id-1", "one")).meant(text)


def test_the_registry_is_where_camp_has_it() -> None:
    both = {"CAMP_REGISTRY_PATH": "/a/r.json", "XDG_CONFIG_HOME": "/b", "HOME": "/c"}
    assert registry_path(both) == Path("/a/r.json")
    assert registry_path({**both, "CAMP_REGISTRY_PATH": ""}) == Path("/b/obey/campaign/registry.json")
    assert registry_path({"XDG_CONFIG_HOME": "relative", "HOME": "/c"}) == Path("/c/.obey/campaign/registry.json")


def test_a_registry_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_registry(tmp_path / "none.json") == Registry(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON, line 1"),
        ("", "is not JSON"),
        ("[]", "must hold one JSON object"),
        ('{"campaigns": []}', "must have one object `campaigns`"),
        ('{"campaigns": {}, "campaigns": {}}', "must have one object `campaigns`"),
        ("[" * 100_000, "cannot be parsed as JSON"),
    ],
)
def test_a_broken_registry_is_told_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    found = read(tmp_path, text)
    assert words in found.trouble
    assert str(tmp_path) in found.trouble
    assert found.entries == ()


def test_what_is_no_file_or_too_long_or_no_text_is_told(tmp_path: Path) -> None:
    assert "cannot be read: it is not a regular file" in read_registry(tmp_path).trouble
    (tmp_path / "r").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in read_registry(tmp_path / "r").trouble
    (tmp_path / "r").write_bytes(b" " * (4 * 1024 * 1024 + 1))
    assert "is longer than" in read_registry(tmp_path / "r").trouble
    assert "not absolute" in read_registry(Path("r.json")).trouble


def test_one_bad_entry_spoils_no_other(tmp_path: Path) -> None:
    good = {"name": "good", "path": "/there", "type": "tools", "status": "active"}
    found = troubles(
        tmp_path,
        good=good,
        nothing=None,
        nameless={**good, "name": 7},
        unnamed={"path": "/there"},
        odd={**good, "name": "a\nb"},
        pathless={**good, "path": ""},
        relative={**good, "path": "somewhere"},
        nul={**good, "path": "/a\0b"},
        **{"a b": good, "x" * 257: good, "../up": good, "new\nline": good},
    )
    assert found.pop("good") == ""
    assert "is not an object" in found["nothing"]
    assert "no name" in found["nameless"]
    assert "no name" in found["unnamed"]
    assert r"its name 'a\nb' is too long or has unprintable characters" in found["odd"]
    assert "no path" in found["pathless"]
    assert "'somewhere' is not absolute" in found["relative"]
    assert "is invalid" in found["nul"]
    for odd in ("a b", "x" * 257, "../up", "new\nline"):
        assert "its id must consist of" in found[odd]
    assert all(trouble.isprintable() for trouble in found.values())


def test_a_campaign_that_stands_there_twice_is_not_chosen(tmp_path: Path) -> None:
    entry = '{"name": "n", "path": "/p"}'
    found = read(tmp_path, f'{{"campaigns": {{"c1": {entry}, "c2": {entry}, "c1": {entry}}}}}')
    assert [entry.id for entry in found.entries if entry.trouble] == ["c1"]
    inside = read(tmp_path, '{"campaigns": {"c1": {"name": "n", "path": "/p", "path": "/q"}}}')
    assert "has 'path' twice" in inside.entries[0].trouble
