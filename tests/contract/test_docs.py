"""The documents name every setting, error code, state and exit code that there is."""

import re
from pathlib import Path

import pytest

from betcode.config.schema import SETTINGS
from betcode.domain.errors import ErrorCode
from betcode.domain.features import FEATURES
from betcode.domain.rows import InputState, PromptState
from betcode.domain.run import RunState
from betcode.domain.session import SessionStatus
from betcode.server.errors import STATUS

ROOT = Path(__file__).parent.parent.parent
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_described(key: str) -> None:
    assert f"| `{key}` |" in OPERATIONS


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_code_is_described_with_its_status(code: ErrorCode) -> None:
    assert f"| `{code}` | {STATUS[code].name} |" in OPERATIONS


@pytest.mark.parametrize("state", [*SessionStatus, *RunState, *InputState, *PromptState])
def test_every_state_is_in_the_architecture(state: str) -> None:
    assert state.upper() in ARCHITECTURE


def test_every_feature_flag_is_described_and_no_other() -> None:
    known = {feature.name for feature in FEATURES}
    assert all(f"| `{name}` |" in OPERATIONS for name in known)
    for path in (ROOT / "docs").glob("*.md"):
        assert set(re.findall(r"feature_flags\.(\w+)", path.read_text())) <= known, path.name


def test_every_decision_is_in_the_index() -> None:
    decisions = ROOT / "docs" / "decisions"
    index = (decisions / "README.md").read_text()
    for path in decisions.glob("0*.md"):
        assert f"({path.name})" in index, path.name
    for name in index.split("](")[1:]:
        assert (decisions / name.split(")")[0]).exists(), name
