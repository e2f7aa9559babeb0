"""Feature flags: the table, what is on, and how a stage may change."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from betcode._version import __version__
from betcode.domain.release.features import FEATURES, NEXT_STAGES, Feature, FeatureFlags, flag_message, stage_faults
from betcode.domain.values.versions import is_older, parsed
from betcode.v1 import version_pb2 as v1

RELEASES = Path(__file__).parents[2] / "contract" / "releases"
TABLE = {feature.name: feature for feature in FEATURES}
STAGES = [v1.ALPHA, v1.BETA, v1.STABLE, v1.DEPRECATED, v1.REMOVED]


def made(stage: v1.FeatureStage.ValueType, name: str = "made_up", **more: object) -> Feature:
    feature = Feature(name, "Something made up", "For a test", stage, "0.1.0", removal="0.4.0")
    return replace(feature, **more)  # type: ignore[arg-type]


def flags(*features: Feature, **chosen: bool) -> FeatureFlags:
    return FeatureFlags("0.2.5", chosen, table=features)


@pytest.mark.behaviour(
    "feature.flag.streaming-deltas",
    "feature.flag.permission-bridge",
    "feature.flag.session-persistence",
    "feature.flag.worktree-management",
    "feature.flag.subagent-orchestration",
    "feature.flag.context-compaction",
    "feature.flag.legacy-permission-format",
)
@pytest.mark.parametrize(
    ("name", "stage", "introduced"),
    [
        ("streaming_deltas", v1.STABLE, "0.1.0"),
        ("permission_bridge", v1.STABLE, "0.1.0"),
        ("session_persistence", v1.STABLE, "0.1.0"),
        ("event_batching", v1.STABLE, "0.1.0"),
        ("context_compaction", v1.STABLE, "0.2.0"),
        ("worktree_management", v1.STABLE, "0.2.0"),
        ("subagent_orchestration", v1.ALPHA, "0.2.0"),
        ("legacy_permission_format", v1.REMOVED, "0.1.0"),
    ],
)
def test_the_table_has_every_flag(name: str, stage: v1.FeatureStage.ValueType, introduced: str) -> None:
    assert (TABLE[name].stage, TABLE[name].introduced) == (stage, introduced)


@pytest.mark.parametrize("feature", [each for each in FEATURES if each.is_built], ids=lambda feature: feature.name)
def test_a_built_feature_was_introduced_by_this_release_or_an_earlier_one(feature: Feature) -> None:
    """A client that compares `introduced_version` with `server_version` finds the feature."""
    assert not is_older(__version__, feature.introduced)


@pytest.mark.behaviour("feature.described")
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_every_flag_is_described(feature: Feature) -> None:
    told = flag_message(feature, is_on=False)
    assert told.name == feature.name
    assert told.description
    assert told.stage in STAGES
    assert parsed(told.introduced_version) is not None
    goes = feature.stage in (v1.DEPRECATED, v1.REMOVED)
    assert (bool(told.deprecated_version), bool(told.removal_version)) == (goes, goes)


@pytest.mark.behaviour("feature.stage.alpha-off", "feature.stage.beta-off", "feature.stage.stable-on")
@pytest.mark.parametrize("stage", STAGES)
def test_only_what_is_stable_is_on_by_default(stage: v1.FeatureStage.ValueType) -> None:
    assert flags(made(stage)).is_on("made_up") == (stage == v1.STABLE)


@pytest.mark.behaviour("feature.config", "feature.stage.beta-off", "feature.stage.removed")
@pytest.mark.parametrize(("stage", "chosen"), list(product(STAGES, [True, False])))
def test_settings_decide_against_the_default_but_not_for_what_is_gone(
    stage: v1.FeatureStage.ValueType, chosen: bool
) -> None:
    assert flags(made(stage), made_up=chosen).is_on("made_up") == (chosen and stage != v1.REMOVED)


def test_other_settings_count_at_once() -> None:
    some = flags(made(v1.ALPHA))
    some.use({"made_up": True})
    assert some.on == ["made_up"]
    some.use({})
    assert some.on == []


def test_what_is_not_built_is_never_on_and_says_where_it_will_be() -> None:
    some = flags(made(v1.STABLE, is_built=False), made_up=True)
    assert not some.is_on("made_up")
    assert "not part of this release" in some.refusal("made_up")
    assert "feature_flags.made_up" in some.refusal("made_up")


def test_what_nothing_works_without_stays_on() -> None:
    some = flags(made(v1.STABLE, is_essential=True), made_up=False)
    assert some.is_on("made_up")
    assert "no effect" in " ".join(some.remarks())


@pytest.mark.behaviour("feature.stage.transitions")
@pytest.mark.parametrize(("before", "after"), list(product(STAGES, STAGES)))
def test_a_stage_moves_only_where_it_may(before: v1.FeatureStage.ValueType, after: v1.FeatureStage.ValueType) -> None:
    allowed = {
        (v1.ALPHA, v1.BETA),
        (v1.BETA, v1.STABLE),
        (v1.STABLE, v1.DEPRECATED),
        (v1.DEPRECATED, v1.REMOVED),
        (v1.ALPHA, v1.REMOVED),
        (v1.BETA, v1.REMOVED),
    }
    faults = list(stage_faults({"made_up": v1.FeatureStage.Name(before)}, (made(after),)))
    assert bool(faults) == (before != after and (before, after) not in allowed)
    assert set(NEXT_STAGES) == set(STAGES)


def test_a_flag_that_vanishes_from_the_table_is_noticed() -> None:
    assert "missing in the table" in " ".join(stage_faults({"made_up": "STABLE"}, ()))


@pytest.mark.behaviour("feature.stage.transitions")
def test_the_table_keeps_to_it_since_every_release() -> None:
    recorded = sorted(RELEASES.glob("stages-*.json"))
    assert recorded
    for path in recorded:
        assert list(stage_faults(json.loads(path.read_text()))) == []


@pytest.mark.behaviour("version.negotiate.subset")
@pytest.mark.parametrize(("client", "is_granted"), [("0.2.0", False), ("0.3.0-alpha.1", False), ("0.3.0", True)])
def test_a_flag_is_not_granted_to_a_client_that_is_too_old_for_it(client: str, is_granted: bool) -> None:
    granted, warnings = flags(made(v1.STABLE, min_client="0.3.0")).granted(["made_up"], client)
    assert granted == (["made_up"] if is_granted else [])
    assert any("0.3.0" in warning for warning in warnings) != is_granted


@pytest.mark.behaviour("version.negotiate.disabled-feature")
def test_what_is_off_is_not_granted_and_named() -> None:
    some = flags(made(v1.ALPHA, "young"), made(v1.STABLE, "old"), old=False)
    granted, (young, old) = some.granted(["young", "old"], "0.2.0")
    assert granted == []
    assert "young" in young
    assert "alpha" in young
    assert "feature_flags.young" in young
    assert old.startswith("old disabled")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"subagent_orchestratoin": True}, "did you mean subagent_orchestration?"),
        ({"legacy_permission_format": True}, "removed in 0.1.0"),
        ({"subagent_orchestration": True}, f"not part of betcode {__version__}"),
        ({"session_persistence": False}, "is essential"),
    ],
)
def test_odd_settings_are_remarked_on(chosen: dict[str, bool], words: str) -> None:
    (remark,) = FeatureFlags(__version__, chosen).remarks()
    assert words in remark


def test_an_unknown_feature_is_a_warning_and_nothing_else() -> None:
    granted, (warning,) = FeatureFlags(__version__).granted(["time_travel", "event_batching"], __version__)
    assert granted == ["event_batching"]
    assert "time_travel" in warning
