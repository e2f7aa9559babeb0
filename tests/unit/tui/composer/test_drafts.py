"""Drafts in files."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.agents.commands import AttachedFile
from betcode.tui.composer.drafts import Drafts
from betcode.tui.composer.pieces import Attachment, Draft, pasted_text

SESSION = "0190a000-0000-7000-8000-000000000001"
IMAGE = Attachment(AttachedFile("a.png", "image/png", b"\x89PNG"), "/somewhere/a.png")

attachments = st.one_of(
    st.just(IMAGE),
    st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])).map(lambda t: pasted_text(t, ())),
)
drafts = st.builds(Draft, st.text(), st.lists(attachments, max_size=3).map(tuple))


@given(drafts)
def test_a_draft_is_read_as_it_was_written(draft: Draft) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Drafts(Path(directory)).write(SESSION, draft)
        assert Drafts(Path(directory)).read(SESSION) == (Draft() if draft.is_empty else draft)


def test_files_are_private_and_those_of_removed_attachments_go(tmp_path: Path) -> None:
    kept = Drafts(tmp_path / "drafts")
    kept.write(SESSION, Draft("text", (IMAGE,)))
    place = tmp_path / "drafts" / SESSION
    assert len(list(place.iterdir())) == 2
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in place.iterdir())
    kept.write(SESSION, Draft("text"))
    assert [path.name for path in place.iterdir()] == ["draft.json"]
    kept.write(SESSION, Draft())
    assert not place.exists()


def test_an_empty_draft_does_not_remove_the_draft_of_another_screen(tmp_path: Path) -> None:
    one, other = Drafts(tmp_path), Drafts(tmp_path)
    one.write(SESSION, Draft("mine"))
    other.read(SESSION)
    other.write(SESSION, Draft("theirs"))
    one.write(SESSION, Draft())
    assert Drafts(tmp_path).read(SESSION) == Draft("theirs")
    other.write(SESSION, Draft())
    assert Drafts(tmp_path).read(SESSION) == Draft()


def test_the_oldest_drafts_are_removed(tmp_path: Path) -> None:
    kept = Drafts(tmp_path)
    for number in range(205):
        kept.write(f"{number:08x}", Draft("text"))
    assert sum(path.is_dir() for path in tmp_path.iterdir()) == 200


def test_a_file_that_makes_no_sense_is_no_draft(tmp_path: Path) -> None:
    place = tmp_path / SESSION
    place.mkdir()
    for content in (b"{", b"[]", b'{"text": 1}', b"\xff", b'{"text": "", "attachments": [1, {"sha256": "../../x"}]}'):
        (place / "draft.json").write_bytes(content)
        assert Drafts(tmp_path).read(SESSION) == Draft()


def test_an_odd_id_stays_below_the_directory(tmp_path: Path) -> None:
    Drafts(tmp_path / "drafts").write("../../outside", Draft("text"))
    assert [path.name for path in tmp_path.iterdir()] == ["drafts"]
    assert Drafts(tmp_path / "drafts").read("../../outside") == Draft("text")
