"""CHANGELOG.md is written from the notes in changes/."""

from pathlib import Path

import pytest
from changelog import HEAD, ROOT, changelog, changes_in, main, read


def test_a_note_is_one_change_and_a_list_is_several() -> None:
    assert changes_in("One sentence\nover two lines.\n") == ["One sentence over two lines."]
    assert changes_in("- One.\n- Two,\n  over two lines.\n") == ["One.", "Two, over two lines."]


def test_releases_are_sorted_by_number_and_kinds_by_importance() -> None:
    text = changelog({"0.9.0": {"fixed": ["a"]}, "0.10.0": {"security": ["c"], "added": ["b"]}})
    wanted = "\n## 0.10.0\n\n### Added\n\n- b\n\n### Security\n\n- c\n\n## 0.9.0\n\n### Fixed\n\n- a\n"
    assert text == HEAD + wanted


def test_notes_outside_a_folder_count_for_the_current_version(tmp_path: Path) -> None:
    (tmp_path / "0.1.0").mkdir()
    (tmp_path / "0.1.0" / "all.added.md").write_text("- a\n- b\n")
    (tmp_path / "new-thing.fixed.md").write_text("c\n")
    (tmp_path / "README.md").write_text("about")
    assert read(tmp_path, "0.2.0") == {"0.1.0": {"added": ["a", "b"]}, "0.2.0": {"fixed": ["c"]}}


@pytest.mark.parametrize("name", ["thing.md", "thing.mended.md", "later/thing.fixed.md"])
def test_a_file_that_is_no_note_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("c\n")
    with pytest.raises(SystemExit, match="thing"):
        read(tmp_path, "0.2.0")


def test_a_note_that_is_not_in_the_changelog_fails_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "thing.fixed.md").write_text("A thing works.\n")
    (tmp_path / "src/betcode").mkdir(parents=True)
    (tmp_path / "src/betcode/_version.py").write_bytes((ROOT / "src/betcode/_version.py").read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(HEAD)
    monkeypatch.setattr("changelog.ROOT", tmp_path)
    with pytest.raises(SystemExit, match="lacks"):
        main(["--check"])
    main([])
    main(["--check"])
