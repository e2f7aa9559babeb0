"""Hold proto/ to the rules that no compiler knows; leave with 1 and the reasons where it breaks one.

- What came after the first release says in a comment which version brought it.
- A deprecated element is declared in betcode.domain.release.deprecations, and the reverse, and its comment names the
  replacement.
- betcode.v1 imports nothing of betcode.v1alpha, and what is in there calls itself experimental.
"""

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from grpc_tools import protoc

from betcode.domain.release.deprecations import DEPRECATIONS, DeprecatedKind, Deprecation

ROOT = Path(__file__).resolve().parent.parent
FIRST_RELEASE = ROOT / "proto" / "released-0.1.0.txt"
_VERSION = re.compile(r"\b(?:since|in|with) v?\d+\.\d+\.\d+", re.IGNORECASE)

Place = tuple[int, ...]  # of something in its file, as protoc writes it
Item = (
    DescriptorProto
    | FieldDescriptorProto
    | EnumDescriptorProto
    | EnumValueDescriptorProto
    | ServiceDescriptorProto
    | MethodDescriptorProto
)
_SYNTAX = (12,)  # the path of a file's first statement, where the comment on the whole file stands


@dataclass(frozen=True, slots=True)
class Entry:
    """One named thing of the contract: what is said about it, and about that which it stands in."""

    name: str
    kind: DeprecatedKind | None  # None: of a kind that is not deprecated by itself
    comment: str
    comments_around: tuple[str, ...]
    is_deprecated: bool


def compiled(proto: Path) -> list[FileDescriptorProto]:
    """Every file below `proto`, with its comments."""
    files = sorted(str(path.relative_to(proto)) for path in proto.rglob("*.proto"))
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "set"
        arguments = [
            "protoc",
            f"--proto_path={proto}",
            f"--proto_path={resources.files('grpc_tools') / '_proto'}",
            "--include_source_info",
            f"--descriptor_set_out={out}",
            *files,
        ]
        if protoc.main(arguments) != 0:
            sys.exit("proto: the files do not compile; see above")
        return list(FileDescriptorSet.FromString(out.read_bytes()).file)


def entries(file: FileDescriptorProto) -> Iterator[Entry]:
    """Everything that has a name in a file."""
    said: dict[Place, str] = {
        tuple(each.path): " ".join([*each.leading_detached_comments, each.leading_comments, each.trailing_comments])
        for each in file.source_code_info.location
    }
    whole = said.get(_SYNTAX, "")

    def entry(item: Item, name: str, path: Place, kind: DeprecatedKind | None, around: tuple[str, ...]) -> Entry:
        return Entry(name, kind, said.get(path, ""), around, item.options.deprecated)

    def messages(items: Iterable[DescriptorProto], scope: str, path: Place, around: tuple[str, ...]) -> Iterator[Entry]:
        for number, item in enumerate(items):
            if item.options.map_entry:
                continue
            own, name = (*path, number), f"{scope}.{item.name}"
            yield entry(item, name, own, None, around)
            inside = (*around, said.get(own, ""))
            for index, each in enumerate(item.field):
                yield entry(each, f"{name}.{each.name}", (*own, 2, index), DeprecatedKind.FIELD, inside)
            yield from messages(item.nested_type, name, (*own, 3), inside)
            yield from enums(item.enum_type, name, (*own, 4), inside)

    def enums(
        items: Iterable[EnumDescriptorProto], scope: str, path: Place, around: tuple[str, ...]
    ) -> Iterator[Entry]:
        for number, item in enumerate(items):
            own = (*path, number)
            yield entry(item, f"{scope}.{item.name}", own, None, around)
            for index, each in enumerate(item.value):
                inside = (*around, said.get(own, ""))
                yield entry(each, f"{scope}.{each.name}", (*own, 2, index), DeprecatedKind.ENUM_VALUE, inside)

    yield from messages(file.message_type, file.package, (4,), (whole,))
    yield from enums(file.enum_type, file.package, (5,), (whole,))
    for number, service in enumerate(file.service):
        own, name = (6, number), f"{file.package}.{service.name}"
        yield entry(service, name, own, DeprecatedKind.SERVICE, (whole,))
        for index, method in enumerate(service.method):
            yield entry(
                method, f"{name}.{method.name}", (*own, 2, index), DeprecatedKind.RPC, (whole, said.get(own, ""))
            )


def unversioned(files: Sequence[FileDescriptorProto], first: frozenset[str]) -> Iterator[str]:
    """What came after the first release without saying when."""
    for file in files:
        for each in entries(file):
            if each.name not in first and not any(map(_VERSION.search, (each.comment, *each.comments_around))):
                yield f"{file.name}: {each.name} came later: a comment must say since which version"


def marks(files: Sequence[FileDescriptorProto], records: Sequence[Deprecation]) -> Iterator[str]:
    """Where the marks in the protos and the records of what is deprecated differ."""
    declared: Mapping[str, Deprecation] = {
        each.feature: each for each in records if each.kind is not DeprecatedKind.FLAG
    }
    known = {each.name: each for file in files for each in entries(file)}
    for name, record in declared.items():
        found = known.get(name)
        if found is None or found.kind is not record.kind:
            yield f"{name} is declared as a deprecated {record.kind.value}, and there is no such one"
        elif not found.is_deprecated:
            yield f"{name} is deprecated and needs the option deprecated = true"
        elif record.replacement not in found.comment:
            yield f"{name} is deprecated and needs a comment that names its replacement, {record.replacement}"
    for name, found in known.items():
        if found.is_deprecated and found.kind is not None and name not in declared:
            yield f"{name} is marked as deprecated and has no record in betcode.domain.release.deprecations"


def alpha(files: Sequence[FileDescriptorProto]) -> Iterator[str]:
    """Where the experimental and the stable are mixed up."""
    for file in files:
        if file.package != "betcode.v1alpha":
            for name in file.dependency:
                if name.startswith("betcode/v1alpha/"):
                    yield f"{file.name} imports {name}: what is stable may not stand on what is experimental"
        elif not file.name.startswith("betcode/v1alpha/"):
            yield f"{file.name} is of package betcode.v1alpha and must stand in betcode/v1alpha/"
        elif "experimental" not in next(_about(file), "").lower():
            yield f"{file.name} needs a comment at its beginning that calls it experimental"


def _about(file: FileDescriptorProto) -> Iterator[str]:
    for each in file.source_code_info.location:
        if tuple(each.path) == _SYNTAX:
            yield " ".join([*each.leading_detached_comments, each.leading_comments])


def first_release(path: Path = FIRST_RELEASE) -> frozenset[str]:
    return frozenset(path.read_text(encoding="utf-8").split())


def complaints(proto: Path = ROOT / "proto") -> list[str]:
    files = compiled(proto)
    return [*alpha(files), *marks(files, DEPRECATIONS), *unversioned(files, first_release())]


if __name__ == "__main__":
    if found := complaints():
        sys.exit("proto: the contract's own rules are broken:\n  " + "\n  ".join(found))
    print("proto: later parts name their version, and nothing stable stands on what is experimental")
