"""Deprecated parts of the API, each declared once: since when, until when, and its replacement."""

import calendar
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from betcode.domain.values.versions import Version, parsed
from betcode.v1 import version_pb2 as v1

MIGRATION_GUIDE = "https://betcode.dev/docs/migration"  # docs/migration.md, as published


class DeprecatedKind(enum.Enum):
    RPC = "RPC method"
    FIELD = "message field"
    FLAG = "feature flag"
    ENUM_VALUE = "enum value"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Period:
    support_months: int  # at least, after it was deprecated
    lead_months: int  # that it is announced before it is deprecated


PERIODS: Mapping[DeprecatedKind, Period] = {
    DeprecatedKind.RPC: Period(12, 6),
    DeprecatedKind.FIELD: Period(6, 3),
    DeprecatedKind.FLAG: Period(6, 3),
    DeprecatedKind.ENUM_VALUE: Period(6, 3),
    DeprecatedKind.SERVICE: Period(18, 12),
}
_REMOVAL_NOTICE_MONTHS = 3


@dataclass(frozen=True, slots=True)
class Deprecation:
    """`feature` is a flag's name, or the full name of a part of the protos (betcode.v1.CancelRequest.reason)."""

    feature: str
    kind: DeprecatedKind
    replacement: str
    announced_on: date
    deprecated_on: date
    deprecated_version: str
    removal_announced_on: date
    removal_on: date
    removal_version: str
    anchor: str  # in docs/migration.md

    @property
    def migration_url(self) -> str:
        return f"{MIGRATION_GUIDE}#{self.anchor}"


# Nothing is deprecated in this release.
DEPRECATIONS: tuple[Deprecation, ...] = ()


def severity(removal_version: str, running: str) -> v1.Severity.ValueType:
    """URGENT: it goes with the next minor version; WARNING: with the next major one, or before; INFO: later."""
    removal, now = parsed(removal_version), parsed(running)
    if removal is None or now is None:
        return v1.SEVERITY_UNKNOWN
    if removal <= Version(f"{now.major}.{now.minor + 1}"):
        return v1.URGENT
    return v1.WARNING if removal <= Version(f"{now.major + 1}.0") else v1.INFO


def warning(record: Deprecation, running: str) -> v1.DeprecationWarning:
    """Return the warning for a client that uses it."""
    return v1.DeprecationWarning(
        feature=record.feature,
        replacement=record.replacement,
        removal_version=record.removal_version,
        migration_url=record.migration_url,
        severity=severity(record.removal_version, running),
    )


def faults(record: Deprecation) -> Iterator[str]:
    """Return violations of the promised periods, one sentence each."""
    period = PERIODS[record.kind]
    for earlier, later, months, what in (
        (record.announced_on, record.deprecated_on, period.lead_months, "is announced before it is deprecated"),
        (record.deprecated_on, record.removal_on, period.support_months, "stays supported after it is deprecated"),
        (record.removal_announced_on, record.removal_on, _REMOVAL_NOTICE_MONTHS, "has its removal announced before"),
    ):
        if months_later(earlier, months) > later:
            yield f"{record.feature} {what} for less than {months} months: {earlier} to {later}"
    since, until = parsed(record.deprecated_version), parsed(record.removal_version)
    if since is None or until is None or until <= since:
        yield f"{record.feature} must go in a later version than the one that deprecates it"
    if not record.replacement or not record.anchor:
        yield f"{record.feature} needs a replacement and a section in the migration guide"


def months_later(day: date, months: int) -> date:
    """The same day so many months later, or the last one of a month that is shorter."""
    years, month = divmod(day.month - 1 + months, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def by_feature(records: tuple[Deprecation, ...]) -> Mapping[str, Deprecation]:
    return {record.feature: record for record in records}
