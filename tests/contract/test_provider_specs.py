"""A provider is declared once, in its `spec.py`; everything else that names providers is derived from the specs."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.providers.specs import SPECS
from betcode.v1 import version_pb2 as v1
from support.patience import PATIENCE_S
from support.source_trees import source_trees

# Longer literals that contain a name, by file. No literal may be a name, except for the last line.
_PROSE = {
    "agents/demo/agent.py",  # help: the wire format that it speaks
    "cli/cassette/options.py",  # help: which agent plays a recording
    "cli/core/examples.py",  # examples in the help
    "cli/core/parser.py",  # help of --claude-bin, printed without importing the specs
    "cli/obey/examples.py",  # examples in the help
    "cli/obey/parser.py",  # one more example
    "cli/run/headless.py",  # a notice about the demo agent
    "cli/session/new_session_options.py",  # help, printed without importing the specs
    "config/agent_settings.py",  # an argument of another program, in an example
    "engine/permissions/project_scan.py",  # names of files that a program reads
    "providers/acp/profiles.py",  # how to log in to the program that the agent uses
    "providers/codex/advice.py",  # the npm package of Codex
    "providers/codex/executable.py",  # the same
    "rules/protected_files.py",  # the short name of a folder on some file systems
    "tui/widgets/welcome.py",  # text about the demo agent
    "providers/codex/spec.py",  # an API key, which obey names by the vendor of the API
}


def _names(spec: ProviderSpec) -> set[str]:
    return {spec.name, spec.obey_name} - {""}


def _literals(tree: ast.Module) -> Iterator[str]:
    """The string literals of a module that are no docstrings."""
    nodes = list(ast.walk(tree))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


@cache
def _occurrences() -> tuple[tuple[str, str, str], ...]:
    """The file, the name and the literal, for each name of a provider outside of its own folders."""
    folders = {name: spec.package.rpartition(".")[2] for spec in SPECS.values() for name in _names(spec)}
    pattern = re.compile(rf"(?<![\w.~/-])({'|'.join(map(re.escape, folders))})(?![\w-])")
    found = []
    for path, tree in source_trees().items():
        parts = path.split("/")
        own = parts[1] if parts[0] in ("providers", "agents") else ""
        for literal in _literals(tree):
            names = {match[1] for match in pattern.finditer(literal)}
            found += [(path, name, literal) for name in sorted(names) if folders[name] != own]
    return tuple(found)


def test_a_name_of_a_provider_is_written_in_its_own_folder_only() -> None:
    found = [(file, literal) for file, name, literal in _occurrences() if literal == name or file not in _PROSE]
    assert found == [("providers/codex/spec.py", "openai")]


def test_every_exception_is_needed() -> None:
    assert sorted(_PROSE - {file for file, _, _ in _occurrences()}) == []


def test_the_list_of_providers_imports_the_specs_only() -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import betcode.providers.specs\n"
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith('betcode.')))\n"
        "print(*sorted({'dataclasses', 'google', 'inspect', 'json', 'msgspec'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    ours, others = done.stdout.split("\n")[:2]
    packages = {spec.package for spec in SPECS.values()}
    specs = {"betcode.providers", "betcode.providers.specs", *packages, *(f"{each}.spec" for each in packages)}
    types = {"betcode.domain", "betcode.domain.agents", "betcode.domain.agents.provider_spec"}
    assert set(ours.split()) - {"betcode._version"} == specs | types
    assert others == ""


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_spec_is_complete(spec: ProviderSpec) -> None:
    assert callable(importlib.import_module(f"{spec.package}.provider").create)
    assert [setting.name for setting in spec.settings] == [*(spec.defaults._fields if spec.defaults else ())]
    assert bool(spec.obey_name) == bool(spec.obey_number)
    assert not (spec.obey_name and spec.profile_of)
    assert not spec.profile_of or SPECS[spec.profile_of].obey_name
    for each in spec.versions.ranges if spec.versions is not None else ():
        assert v1.CompatibilityLevel.Value(each.level) >= 0


_NEW_PROVIDER = """
import sys
from types import ModuleType
from typing import NamedTuple

from betcode.domain.agents.provider_spec import ApiKey, ProviderSetting, ProviderSpec, ValueKind, tested_with
from betcode.providers import specs


class Settings(NamedTuple):
    level: int = 3


made = ModuleType("robot.provider")
made.create = lambda spec, context: (spec.name, context.agents.of(Settings).level)
sys.modules.update({"robot": ModuleType("robot"), "robot.provider": made})
specs.SPECS["robot"] = ProviderSpec(
    "robot", "The Robot", "robot", "the-robot", 7, environment=("ROBOT_*",), api_key=ApiKey("robot", "ROBOT_KEY"),
    settings=(ProviderSetting("level", ValueKind.NUMBER, "its level", least=1, most=5),), defaults=Settings(),
    extra_modules=("robotics",), versions=tested_with("1.5", unknown_from="2", upgrade_url="https://robot.example"),
)
specs.SPECS["toy"] = ProviderSpec("toy", "The Toy", "toy")  # the obey API has no name for it

from pathlib import Path

from betcode.campaigns.keys import keys_path, provider_keys
from betcode.cli.completion.candidates import candidates
from betcode.cli.core.parser import build_parser
from betcode.cli.obey.session_options import provider
from betcode.client.environment import session_environment
from betcode.config.load import load_settings
from betcode.config.schema import SETTINGS
from betcode.domain.release.compatibility import AGENTS
from betcode.domain.values.identifiers import new_session_id
from betcode.providers.registry import ProviderContext, Providers
from betcode.server.obey.names import default_name, kind_of, provider_name, provider_of
from betcode.util.extras import EXTRAS, missing_extra

home = Path(sys.argv[1])
assert ("robot", "") in candidates(build_parser(), ["run", "--provider", "rob"])
assert SETTINGS["agents.default_provider"].kind.read("robot") == "robot"
assert SETTINGS["agents.robot.level"].kind.allowed == "a whole number from 1 to 5"
settings = load_settings(home, {"BETCODE_AGENTS_ROBOT_LEVEL": "5", "BETCODE_AGENTS_DEFAULT_PROVIDER": "robot"}).settings
assert settings.agents.is_changed("robot") and not settings.agents.is_changed("codex")
assert Providers(ProviderContext(settings.agents))["robot"] == ("robot", 5)
assert session_environment({"ROBOT_HOME": "/r", "OTHER": "x"}, providers=["robot"]) == {"ROBOT_HOME": "/r"}
assert provider("robot") == provider("the-robot") == "the-robot"
assert (provider_of("robot"), kind_of(7), provider_name(7)) == (7, "robot", "the-robot")
assert default_name(7, new_session_id()).startswith("the-robot-")
assert (provider_of("toy"), kind_of(0), provider_name(0)) == (0, None, "unspecified")
file = keys_path({"XDG_CONFIG_HOME": str(home)})
file.parent.mkdir()
file.write_text("api_keys:\\n  robot: secret\\n")
assert provider_keys({"XDG_CONFIG_HOME": str(home)}, "robot") == {"ROBOT_KEY": "secret"}
assert AGENTS["robot"].title == "The Robot"
assert missing_extra(EXTRAS["robot"]).startswith("The provider robot needs packages that are not installed")
"""


def test_a_provider_in_the_list_has_everything_that_is_derived_from_specs(tmp_path: Path) -> None:
    """A new provider needs its own folder and one line in `providers/specs.py`: no other module lists providers."""
    program = tmp_path / "new_provider.py"
    program.write_text(_NEW_PROVIDER)
    done = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
