"""docs/commands.md and docs/obey.md from parsers, examples and what is said of JSON; and whether JSON is so."""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from betcode.cli.core.arguments import commands_of
from betcode.cli.core.examples import EXAMPLES
from betcode.cli.core.parser import build_parser
from betcode.cli.obey.examples import EXAMPLES as OBEY_EXAMPLES
from betcode.cli.obey.parser import build_parser as build_obey

DOCS = Path(__file__).resolve().parent.parent / "docs"
_SIMPLE = {"string": str, "integer": int, "boolean": bool, "object": dict, "any": object}
_ANY = "*"  # whatever else it is called


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    says: str
    may_lack: bool


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command prints with --json."""

    says: str
    fields: tuple[Field, ...]  # of the one value
    lines: str  # or the record that every line is
    example: str


@dataclass(frozen=True, slots=True)
class Program:
    """A command line of ours."""

    name: str
    parser: Callable[[], argparse.ArgumentParser]
    examples: Mapping[str, str]
    common: frozenset[str]  # what every command takes is told once


BETCODE = Program(
    "betcode",
    build_parser,
    EXAMPLES,
    frozenset(
        {
            *("--help", "--socket", "--state-dir", "--config-dir", "--claude-bin", "--address", "--token-file"),
            *("--tls-ca", "--json", "--no-start"),
        }
    ),
)
OBEY = Program(
    "obey", build_obey, OBEY_EXAMPLES, frozenset({"--help", "--socket", "--json", "--no-color", "--no-start"})
)


class Reference:
    """The records and commands of docs/commands.yaml, or of another program's."""

    def __init__(self, source: Path = DOCS / "commands.yaml", examples: Path = DOCS / "commands.json") -> None:
        found = yaml.safe_load(source.read_text(encoding="utf-8"))
        shown: Mapping[str, Any] = json.loads(examples.read_text(encoding="utf-8"))
        self.records = {name: _fields(fields) for name, fields in found["records"].items()}
        self.commands = {
            words: Printed(
                one.get("says", ""),
                _fields(one.get("fields", {})),
                one.get("lines", ""),
                pretty(shown[words]) if words in shown else "",
            )
            for words, one in found["commands"].items()
        }
        self.examples = shown

    def faults(self, words: str, value: Any) -> list[str]:
        """What of a printed value is not as it is documented: fields that are missing, unknown or of another type."""
        printed = self.commands[words]
        fields = printed.fields or self.records[printed.lines]
        return list(self._faults_of(fields, value, words))

    def _faults_of(self, fields: tuple[Field, ...], value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} is no object"
            return
        known = {field.name: field for field in fields}
        yield from (
            f"{where}.{name} is missing" for name, one in known.items() if self._must(one) and name not in value
        )
        for name, each in value.items():
            field = known.get(name, known.get(_ANY))
            if field is None:
                yield f"{where}.{name} is not documented"
            else:
                yield from self._type_faults(field.type, each, f"{where}.{name}")

    def _must(self, field: Field) -> bool:
        return not field.may_lack and field.name != _ANY

    def _type_faults(self, kind: str, value: Any, where: str) -> Iterator[str]:
        if kind.endswith(" or null"):
            if value is not None:
                yield from self._type_faults(kind.removesuffix(" or null"), value, where)
        elif kind.endswith("[]"):
            if not isinstance(value, list):
                yield f"{where} is no list"
                return
            for at, each in enumerate(value):
                yield from self._type_faults(kind[:-2], each, f"{where}[{at}]")
        elif kind.startswith("{"):
            for name, each in value.items():
                yield from self._type_faults(kind[1:-1], each, f"{where}.{name}")
        elif kind in self.records:
            yield from self._faults_of(self.records[kind], value, where)
        elif not _is(kind, value):
            yield f"{where} is no {kind}: {value!r}"


def _is(kind: str, value: object) -> bool:
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, _SIMPLE[kind])


def _fields(found: Mapping[str, str]) -> tuple[Field, ...]:
    fields = []
    for name, spec in found.items():
        kind, _, says = spec.partition(";")
        fields.append(Field(name.removesuffix("?"), kind.strip(), says.strip(), name.endswith("?")))
    return tuple(fields)


def pretty(value: Any) -> str:
    """A field a line, and what is inside it on the same one."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    lines = (f"  {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def commands_text(reference: Reference, program: Program = BETCODE) -> Iterator[str]:
    """A section for every command."""
    for words, parser in commands_of(program.parser()):
        printed = reference.commands[words]
        yield f"### {program.name} {words}"
        yield ""
        yield f"{parser.description}"
        yield ""
        yield "```sh"
        yield from (
            re.sub(r" {3,}(\S.*)$", r"  # \1", line.removeprefix("  ")) for line in program.examples[words].splitlines()
        )
        yield "```"
        yield ""
        yield from _options(parser, program)
        yield from _json(printed)


def _options(parser: argparse.ArgumentParser, program: Program) -> Iterator[str]:
    own = [each for each in parser._actions if not program.common.intersection(each.option_strings)]
    if not own:
        return
    yield "| argument | meaning |"
    yield "|---|---|"
    for action in own:
        choices = ", ".join(f"`{choice}`" for choice in action.choices or ())
        says = "; ".join(filter(None, (action.help, choices)))
        yield f"| {_called(action)} | {_cell(says)} |"
    yield ""


def _called(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    if action.nargs == "?" and action.option_strings:
        value = f" [{action.metavar}]"
    names = ", ".join(action.option_strings)
    return f"`{names}{value}`".replace("|", "\\|") if names else f"`{value.strip()}`"


def _json(printed: Printed) -> Iterator[str]:
    yield f"JSON: {printed.says}".rstrip() if printed.says else "JSON:"
    yield ""
    if printed.fields:
        yield from _table(printed.fields)
    if printed.example:
        yield "```json"
        yield printed.example
        yield "```"
        yield ""


def _table(fields: tuple[Field, ...]) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for field in fields:
        name = "…" if field.name == _ANY else f"`{field.name}`"
        yield f"| {name}{' (not always)' if field.may_lack else ''} | {field.type} | {_cell(field.says)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def records_text(reference: Reference) -> Iterator[str]:
    """A table for every record that commands print."""
    for name, fields in reference.records.items():
        yield f"### {name}"
        yield ""
        yield from _table(fields)
