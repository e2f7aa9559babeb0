"""What goes: how long it stays, how loud its warning is, and that every record keeps the promised periods."""

import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from betcode.domain.release.deprecations import (
    DEPRECATIONS,
    DeprecatedKind,
    Deprecation,
    faults,
    months_later,
    severity,
    warning,
)
from betcode.domain.release.features import FEATURES
from betcode.v1 import version_pb2 as v1

ROOT = Path(__file__).parents[3]


def record(kind: DeprecatedKind = DeprecatedKind.FLAG, *, lead: int = 12, support: int = 18) -> Deprecation:
    deprecated = date(2027, 1, 31)
    return Deprecation(
        feature="old_format",
        kind=kind,
        replacement="the new format",
        announced_on=months_later(deprecated, -lead),
        deprecated_on=deprecated,
        deprecated_version="0.2.5",
        removal_announced_on=months_later(deprecated, support - 3),
        removal_on=months_later(deprecated, support),
        removal_version="0.4.0",
        anchor="old-format",
    )


@pytest.mark.behaviour("deprecation.severity")
@pytest.mark.parametrize(
    ("running", "removal", "wanted"),
    [
        ("0.2.5", "0.3.0", v1.URGENT),
        ("0.2.5", "0.2.6", v1.URGENT),
        ("0.2.5", "0.2.0", v1.URGENT),  # it should be gone already
        ("0.2.5", "0.4.0", v1.WARNING),
        ("0.2.5", "1.0.0", v1.WARNING),
        ("0.2.5", "1.1.0", v1.INFO),
        ("0.2.5", "2.0.0", v1.INFO),
        ("1.4.0", "1.5.0", v1.URGENT),
        ("1.4.0", "2.0.0", v1.WARNING),
        ("1.4.0", "3.0.0", v1.INFO),
        ("1.4.0-alpha.2", "1.5.0", v1.URGENT),
        ("1.4.0", "some day", v1.SEVERITY_UNKNOWN),
    ],
)
def test_the_sooner_it_goes_the_louder_it_is(running: str, removal: str, wanted: v1.Severity.ValueType) -> None:
    assert severity(removal, running) == wanted


def test_a_warning_has_everything_that_a_client_needs() -> None:
    told = warning(record(), "0.2.5")
    assert (told.feature, told.replacement, told.removal_version) == ("old_format", "the new format", "0.4.0")
    assert told.migration_url.endswith("#old-format")
    assert told.severity == v1.WARNING


@pytest.mark.behaviour(
    "deprecation.period.rpc",
    "deprecation.period.field",
    "deprecation.period.flag",
    "deprecation.period.enum-value",
    "deprecation.period.service",
)
@pytest.mark.parametrize(
    ("kind", "support", "lead"),
    [
        (DeprecatedKind.RPC, 12, 6),
        (DeprecatedKind.FIELD, 6, 3),
        (DeprecatedKind.FLAG, 6, 3),
        (DeprecatedKind.ENUM_VALUE, 6, 3),
        (DeprecatedKind.SERVICE, 18, 12),
    ],
)
def test_every_kind_has_its_periods_to_the_day(kind: DeprecatedKind, support: int, lead: int) -> None:
    exact = record(kind, support=support, lead=lead)
    assert list(faults(exact)) == []
    day = timedelta(days=1)
    (sooner,) = faults(replace(exact, removal_on=exact.removal_on - day, removal_announced_on=exact.deprecated_on))
    assert f"less than {support} months" in sooner
    (unannounced,) = faults(replace(exact, announced_on=exact.announced_on + 4 * day))
    assert f"less than {lead} months" in unannounced


@pytest.mark.behaviour("deprecation.minimum-support")
@pytest.mark.parametrize("kind", DeprecatedKind)
def test_less_than_six_months_are_too_few_for_every_kind_however_many_releases_lie_between(
    kind: DeprecatedKind,
) -> None:
    (fault,) = faults(
        replace(
            record(kind, support=6),
            removal_on=date(2027, 7, 30),
            removal_announced_on=date(2027, 1, 1),
            removal_version="3.0.0",
        )
    )
    assert "stays supported" in fault


@pytest.mark.behaviour("deprecation.removal-notice")
def test_a_removal_is_announced_three_months_before() -> None:
    exact = record()
    (fault,) = faults(replace(exact, removal_announced_on=exact.removal_announced_on + timedelta(days=1)))
    assert "less than 3 months" in fault


def test_a_record_that_removes_in_the_same_version_or_names_nothing_is_refused() -> None:
    assert list(faults(replace(record(), removal_version="0.2.5")))
    assert list(faults(replace(record(), removal_version="soon")))
    assert list(faults(replace(record(), replacement="")))


def notes_lack(records: tuple[Deprecation, ...], notes: str, guide: str) -> list[str]:
    """What of the records is not in the release notes with a link, or not in the migration guide."""
    anchors = {re.sub(r"[^\w-]", "", line.lstrip("# ").lower().replace(" ", "-")) for line in guide.splitlines()}
    return [
        each.feature
        for each in records
        if each.feature not in notes or f"migration.md#{each.anchor}" not in notes or each.anchor not in anchors
    ]


def release_notes(root: Path) -> str:
    """The change log, and the notes that are not in it yet: of this version, or in the folder of a version."""
    return "".join(path.read_text() for path in [root / "CHANGELOG.md", *sorted((root / "changes").rglob("*.md"))])


def test_the_notes_of_a_versions_folder_are_release_notes(tmp_path: Path) -> None:
    (tmp_path / "changes" / "0.2.0").mkdir(parents=True)
    for name in ("CHANGELOG.md", "changes/one.fixed.md", "changes/0.2.0/two.deprecated.md"):
        (tmp_path / name).write_text(f"{name}\n")
    assert sorted(release_notes(tmp_path).split()) == [
        "CHANGELOG.md",
        "changes/0.2.0/two.deprecated.md",
        "changes/one.fixed.md",
    ]


@pytest.mark.behaviour("deprecation.release-notes")
def test_what_is_deprecated_is_in_the_release_notes_with_a_link_to_the_guide() -> None:
    notes = release_notes(ROOT)
    guide = (ROOT / "docs" / "migration.md").read_text()
    assert notes_lack(DEPRECATIONS, notes, guide) == []
    link = "old_format is deprecated: see [how to change over](docs/migration.md#old-format)"
    assert notes_lack((record(),), link, "## Old format\n") == []
    assert notes_lack((record(),), "", "## Old format\n") == ["old_format"]
    assert notes_lack((record(),), link, "## Something else\n") == ["old_format"]


def test_every_record_of_this_release_keeps_its_periods() -> None:
    assert [fault for each in DEPRECATIONS for fault in faults(each)] == []


def test_deprecated_flags_and_records_are_the_same() -> None:
    declared = {each.feature for each in DEPRECATIONS if each.kind is DeprecatedKind.FLAG}
    assert declared == {each.name for each in FEATURES if each.stage == v1.DEPRECATED}
