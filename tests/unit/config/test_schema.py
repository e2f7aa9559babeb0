"""Where settings are declared."""

import ast
from pathlib import Path

import betcode.config.schema
from betcode.config.schema import GROUPS, SETTINGS
from betcode.providers.specs import SPECS

_FOLDER = Path(betcode.config.schema.__file__).parent
_SHARED = {"__init__", "setting"}


def _declared(module: Path) -> list[str]:
    """Return the keys of the settings that a module declares itself."""
    return [
        str(ast.literal_eval(node.args[0]))
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Setting"
        if isinstance(node.args[0], ast.Constant)
    ]


def _of_providers() -> list[str]:
    """Return the keys that the specs of providers declare."""
    return [f"agents.{spec.name}.{setting.name}" for spec in SPECS.values() for setting in spec.settings]


def test_a_key_is_declared_in_the_module_of_its_prefix() -> None:
    declared = {path.stem: _declared(path) for path in _FOLDER.glob("*.py") if path.stem not in _SHARED}
    misplaced = [(name, key) for name, keys in declared.items() for key in keys if key.partition(".")[0] != name]
    assert not misplaced
    keys = [*_of_providers(), *(key for keys in declared.values() for key in keys)]
    assert sorted(keys) == sorted(SETTINGS)  # none twice, none forgotten


def test_every_group_has_the_name_of_its_prefix() -> None:
    assert {name: {each.key.partition(".")[0] for each in group} for name, group in GROUPS.items()} == {
        name: {name} for name in GROUPS
    }
