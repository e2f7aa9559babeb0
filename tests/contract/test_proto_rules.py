"""The contract's own rules: later parts name their version, what goes is marked, experiments stand apart."""

import re
from datetime import date
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from proto_rules import ROOT, alpha, compiled, complaints, entries, marks, unversioned

from betcode._version import __version__
from betcode.domain.release.deprecations import DeprecatedKind, Deprecation, months_later
from betcode.domain.values.versions import is_older

FILE = """
syntax = "proto3";
package betcode.v1;
service Greeter {
  rpc Greet(Greeting) returns (Greeting);
  // Use Greet.
  rpc Hail(Greeting) returns (Greeting) { option deprecated = true; }
}
message Greeting {
  string text = 1;
  string tone = 2 [deprecated = true]; // use mood instead
  Mood mood = 3; // since 0.2.0
}
enum Mood { MOOD_UNSPECIFIED = 0; GLAD = 1; }
"""
FIRST = frozenset(
    {
        "betcode.v1.Greeter",
        "betcode.v1.Greeter.Greet",
        "betcode.v1.Greeter.Hail",
        "betcode.v1.Greeting",
        "betcode.v1.Greeting.text",
        "betcode.v1.Greeting.tone",
        "betcode.v1.Mood",
        "betcode.v1.MOOD_UNSPECIFIED",
        "betcode.v1.GLAD",
    }
)


def files(root: Path, **texts: str) -> list[FileDescriptorProto]:
    for name, text in texts.items():
        path = root / "betcode" / name / "greeting.proto"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return compiled(root)


def record(feature: str, kind: DeprecatedKind, replacement: str) -> Deprecation:
    day = date(2027, 1, 1)
    return Deprecation(feature, kind, replacement, day, day, "0.2.0", day, months_later(day, 24), "2.0.0", "place")


DECLARED = [
    record("betcode.v1.Greeting.tone", DeprecatedKind.FIELD, "mood"),
    record("betcode.v1.Greeter.Hail", DeprecatedKind.RPC, "Greet"),
]


@pytest.mark.behaviour(
    "contract.compat.new-field-documented",
    "contract.package.promotion",
    "contract.package.v1alpha",
)
def test_the_protos_follow_every_rule() -> None:
    assert complaints() == []


def test_no_part_of_the_contract_was_introduced_after_this_release() -> None:
    for path in (ROOT / "proto").rglob("*.proto"):
        for version in re.findall(r"\bsince v?(\d+\.\d+\.\d+)", path.read_text(encoding="utf-8")):
            assert not is_older(__version__, version), f"{path.name}: since {version}"


def test_everything_with_a_name_is_seen(tmp_path: Path) -> None:
    (file,) = files(tmp_path, v1=FILE)
    assert {entry.name for entry in entries(file)} == FIRST | {"betcode.v1.Greeting.mood"}


@pytest.mark.behaviour("contract.compat.new-field-documented")
@pytest.mark.parametrize(
    ("old", "new", "complained"),
    [
        ("// since 0.2.0", "", {"betcode.v1.Greeting.mood"}),
        ("GLAD = 1;", "GLAD = 1; SAD = 2;", {"betcode.v1.SAD"}),
        ("GLAD = 1;", "GLAD = 1; // always was\n SAD = 2; // since 0.3.0\n", set()),
        ("enum Mood", "message Late { string a = 1; } enum Mood", {"betcode.v1.Late", "betcode.v1.Late.a"}),
        ("enum Mood", "// Since 0.3.0.\nmessage Late { string a = 1; } enum Mood", set()),
        ("rpc Greet(", "rpc Part(Greeting) returns (Greeting); rpc Greet(", {"betcode.v1.Greeter.Part"}),
    ],
)
def test_what_comes_later_must_name_its_version(tmp_path: Path, old: str, new: str, complained: set[str]) -> None:
    assert FILE.count(old) == 1
    found = list(unversioned(files(tmp_path, v1=FILE.replace(old, new)), FIRST))
    assert {line.split(": ")[1].split(" ")[0] for line in found} == complained


@pytest.mark.behaviour("deprecation.proto-marked")
def test_marks_and_records_must_be_the_same(tmp_path: Path) -> None:
    made = files(tmp_path, v1=FILE)
    assert list(marks(made, DECLARED)) == []
    (unrecorded,) = marks(made, DECLARED[:1])
    assert "betcode.v1.Greeter.Hail is marked" in unrecorded
    (unmarked,) = marks(made, [*DECLARED, record("betcode.v1.Greeting.text", DeprecatedKind.FIELD, "nothing")])
    assert "deprecated = true" in unmarked
    (unnamed,) = marks(made, [record("betcode.v1.Greeting.tone", DeprecatedKind.FIELD, "temper"), DECLARED[1]])
    assert "names its replacement, temper" in unnamed
    (unknown,) = marks(made, [*DECLARED, record("betcode.v1.Greeting.shade", DeprecatedKind.FIELD, "tone")])
    assert "no such one" in unknown


@pytest.mark.behaviour("contract.package.promotion", "contract.package.v1alpha")
def test_what_is_stable_may_not_import_what_is_experimental(tmp_path: Path) -> None:
    experiment = '// Experimental.\nsyntax = "proto3";\npackage betcode.v1alpha;\nmessage Odd { string a = 1; }\n'
    importing = FILE.replace("package betcode.v1;", 'package betcode.v1;\nimport "betcode/v1alpha/greeting.proto";')
    assert list(alpha(files(tmp_path / "well", v1=FILE, v1alpha=experiment))) == []
    (imports,) = alpha(files(tmp_path / "imports", v1=importing, v1alpha=experiment))
    assert "may not stand on what is experimental" in imports
    unsaid = experiment.replace("// Experimental.", "// Odd.")
    (silent,) = alpha(files(tmp_path / "silent", v1=FILE, v1alpha=unsaid))
    assert "calls it experimental" in silent
    (misplaced,) = alpha(files(tmp_path / "misplaced", v1=experiment))
    assert "must stand in betcode/v1alpha/" in misplaced
