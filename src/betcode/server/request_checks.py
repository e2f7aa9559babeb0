"""Inspect a request before it is handled: features that it needs, deprecated parts, unknown fields.

The inspection does not change the effect of a request. Only a request that needs a disabled feature is refused.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from betcode.domain.errors import FeatureNotAvailable
from betcode.domain.metrics.request_counts import RequestCounts
from betcode.domain.release.deprecations import DeprecatedKind, Deprecation, warning
from betcode.domain.release.features import FeatureFlags
from betcode.v1 import version_pb2 as v1

logger = logging.getLogger(__name__)

_DEEPEST = 16  # nesting levels that are inspected
_NAMED = 20  # field numbers in one line of the log
_MOST = 1_000  # messages of one request that are inspected
_MOST_BYTES = 16 * 1024  # of unknown fields: to name each of millions would keep everybody waiting
_FOREIGN = "google.protobuf."  # messages whose fields are not defined by us


@dataclass(slots=True)
class DeprecatedUses:
    """The deprecated parts that one call used; each is reported once per call."""

    _known: set[str] = field(default_factory=set)
    _unreported: list[v1.DeprecationWarning] = field(default_factory=list)

    def add(self, warning: v1.DeprecationWarning) -> None:
        if warning.feature not in self._known:
            self._known.add(warning.feature)
            self._unreported.append(warning)

    def take(self) -> Sequence[v1.DeprecationWarning]:
        """Return the ones that were not reported yet."""
        untold, self._unreported = self._unreported, []
        return untold


class RequestInspector:
    def __init__(self, features: FeatureFlags, counts: RequestCounts) -> None:
        self._features = features
        self._counts = counts
        records = features.deprecations.values()
        self._calls = {
            each.feature: each for each in records if each.kind in (DeprecatedKind.RPC, DeprecatedKind.SERVICE)
        }
        self._parts = {
            each.feature: each for each in records if each.kind in (DeprecatedKind.FIELD, DeprecatedKind.ENUM_VALUE)
        }

    def admit(self, method: str, relied_on: Iterable[str], uses: DeprecatedUses) -> None:
        """Let a call begin that needs its own feature and those that its client named.

        Raises:
            FeatureNotAvailable: one of them is off, or not there.
        """
        gate = self._features.gate_of(method)
        for name in (*([gate.name] if gate is not None else []), *relied_on):
            if refusal := self._features.refusal(name):
                raise FeatureNotAvailable(name, refusal, setting=f"feature_flags.{name}")
            self._add_use(self._features.deprecations.get(name), uses)
        self._add_use(self._calls.get(method) or self._calls.get(method.rpartition(".")[0]), uses)

    def inspect(self, request: Message, uses: DeprecatedUses) -> None:
        """Report what a request uses that is unknown to this release or deprecated."""
        if (unread := _unread_bytes(request)) > _MOST_BYTES:
            self._counts.unknown_fields_received += 1
            logger.debug("%s has %d bytes of unknown fields", request.DESCRIPTOR.name, unread)
        elif unknown := tuple(unknown_fields(request)):
            self._counts.unknown_fields_received += 1
            if logger.isEnabledFor(logging.DEBUG):
                shown = ", ".join(f"{kind} {number}" for kind, number in unknown[:_NAMED])
                logger.debug("%s has unknown fields: %s", request.DESCRIPTOR.name, shown)
        if self._parts:
            for name in parts_used(request):
                self._add_use(self._parts.get(name), uses)

    def _add_use(self, record: Deprecation | None, uses: DeprecatedUses) -> None:
        if record is not None:
            self._counts.deprecations_used[record.feature] += 1
            uses.add(warning(record, self._features.running))


def _unread_bytes(request: Message) -> int:
    """Return how much of a large request is unknown; not needed for a small one."""
    size = request.ByteSize()
    if size <= _MOST_BYTES:
        return 0
    known = type(request)()
    known.CopyFrom(request)
    known.DiscardUnknownFields()
    return size - known.ByteSize()


def unknown_fields(message: Message) -> Iterator[tuple[str, int]]:
    """The kind of message and the number of every field that is unknown, in the message and in those inside it."""
    for each in islice(_with_all_inside(message), _MOST):
        fields = UnknownFieldSet(each)
        for index in range(len(fields)):
            yield each.DESCRIPTOR.name, fields[index].field_number


def parts_used(message: Message) -> Iterator[str]:
    """The full names of the fields and enum values that a message uses."""
    for part in islice(_with_all_inside(message), _MOST):
        for each, value in part.ListFields():
            yield each.full_name
            if each.enum_type is not None:
                package = each.enum_type.full_name.rpartition(".")[0]
                for number in value if each.is_repeated else (value,):
                    if number in each.enum_type.values_by_number:
                        # A value's name is in the scope of its enum, not inside it.
                        yield f"{package}.{each.enum_type.values_by_number[number].name}"


def _with_all_inside(message: Message, depth: int = 0) -> Iterator[Message]:
    yield message
    if depth < _DEEPEST:
        for inner in _inside(message):
            yield from _with_all_inside(inner, depth + 1)


def _inside(message: Message) -> Iterator[Message]:
    """The messages in a message, without reading its texts and bytes, which may be large."""
    for each, is_map in _message_fields(cast("Descriptor", message.DESCRIPTOR)):
        if is_map:
            yield from cast("Mapping[Any, Message]", getattr(message, each.name)).values()
        elif each.is_repeated:
            yield from cast("Sequence[Message]", getattr(message, each.name))
        elif message.HasField(each.name):
            yield cast("Message", getattr(message, each.name))


@cache
def _message_fields(kind: Descriptor) -> tuple[tuple[FieldDescriptor, bool], ...]:
    found: list[tuple[FieldDescriptor, bool]] = []
    for each in kind.fields:
        inner = each.message_type
        if inner is None or inner.full_name.startswith(_FOREIGN):
            continue
        is_map = inner.GetOptions().map_entry
        value = inner.fields_by_name["value"].message_type if is_map else inner
        if value is not None and not value.full_name.startswith(_FOREIGN):
            found.append((each, is_map))
    return tuple(found)
