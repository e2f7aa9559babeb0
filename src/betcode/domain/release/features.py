"""Feature flags: their meaning, their stage, and whether they are enabled."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from betcode.domain.release.deprecations import DEPRECATIONS, Deprecation, by_feature
from betcode.domain.values.versions import is_older
from betcode.v1 import version_pb2 as v1

Stage: TypeAlias = v1.FeatureStage.ValueType

# The allowed changes of a stage from one release to the next.
NEXT_STAGES: Mapping[Stage, frozenset[Stage]] = {
    v1.ALPHA: frozenset({v1.BETA, v1.REMOVED}),
    v1.BETA: frozenset({v1.STABLE, v1.REMOVED}),
    v1.STABLE: frozenset({v1.DEPRECATED}),
    v1.DEPRECATED: frozenset({v1.REMOVED}),
    v1.REMOVED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    title: str  # as a sentence begins with it
    description: str
    stage: Stage
    introduced: str  # the version that brought it
    min_client: str = ""
    deprecated: str = ""  # since this version
    removal: str = ""  # in this version
    is_built: bool = True  # false: declared for a later release, and not implemented yet
    is_essential: bool = False  # essential: it cannot be disabled
    calls: tuple[str, ...] = ()  # services and methods that answer only while it is on

    @property
    def setting(self) -> str:
        return f"feature_flags.{self.name}"

    @property
    def is_on_by_default(self) -> bool:
        return self.is_built and self.stage == v1.STABLE


FEATURES: tuple[Feature, ...] = (
    Feature("streaming_deltas", "Text streaming", "Real-time text streaming", v1.STABLE, "0.1.0", is_essential=True),
    Feature(
        "permission_bridge",
        "The permission bridge",
        "Permission requests are forwarded to clients",
        v1.STABLE,
        "0.1.0",
        is_essential=True,
    ),
    Feature(
        "session_persistence",
        "Session persistence",
        "Messages are stored in SQLite",
        v1.STABLE,
        "0.1.0",
        is_essential=True,
    ),
    Feature(
        "event_batching",
        "Event batching",
        "Follow sends events in batches",
        v1.STABLE,
        "0.1.0",
        calls=("betcode.v1.AgentService.Follow",),
    ),
    Feature(
        "context_compaction",
        "Context compaction",
        "A session's context is compacted, on request or automatically",
        v1.STABLE,
        "0.2.0",
        calls=("betcode.v1.AgentService.CompactSession",),
    ),
    Feature(
        "worktree_management",
        "Worktree management",
        "Git worktree operations",
        v1.STABLE,
        "0.2.0",
        calls=("betcode.v1.WorktreeService",),
    ),
    Feature(
        "subagent_orchestration",
        "Subagent orchestration",
        "Execution of multi-agent graphs",
        v1.ALPHA,
        "0.2.0",
        is_built=False,
        calls=("betcode.v1.SubagentService",),
    ),
    Feature(
        "legacy_permission_format",
        "The legacy permission format",
        "The old permission wire format; there is only the structured one",
        v1.REMOVED,
        "0.1.0",
        deprecated="0.1.0",
        removal="0.1.0",
    ),
)


class FeatureFlags:
    """The features that are enabled now: the table's defaults, and the settings that override them."""

    def __init__(
        self,
        running: str,
        chosen: Mapping[str, bool] = MappingProxyType({}),
        *,
        table: tuple[Feature, ...] = FEATURES,
        deprecations: tuple[Deprecation, ...] = DEPRECATIONS,
    ) -> None:
        self.running = running
        self.table: Mapping[str, Feature] = {feature.name: feature for feature in table}
        self.deprecations = by_feature(deprecations)
        self._chosen: Mapping[str, bool] = dict(chosen)

    def use(self, chosen: Mapping[str, bool]) -> None:
        """Go on with other settings."""
        self._chosen = dict(chosen)

    def is_on(self, name: str) -> bool:
        feature = self.table.get(name)
        if feature is None or not feature.is_built or feature.stage == v1.REMOVED:
            return False
        return feature.is_essential or self._chosen.get(name, feature.is_on_by_default)

    @property
    def on(self) -> list[str]:
        return [name for name in self.table if self.is_on(name)]

    def gate_of(self, method: str) -> Feature | None:
        """The feature that a call, named in full, belongs to."""
        service = method.rpartition(".")[0]
        return next((each for each in self.table.values() if method in each.calls or service in each.calls), None)

    def refusal(self, name: str) -> str:
        """Return why a feature cannot be used now, and the remedy; empty if it can."""
        feature = self.table.get(name)
        if feature is None:
            return f"This daemon ({self.running}) has no feature {name[:80]!r}: a later one may"
        if self.is_on(name):
            return ""
        if feature.stage == v1.REMOVED:
            return f"{feature.title} ({name}) was removed in {feature.removal}, and {feature.setting} has no effect"
        if not feature.is_built:
            return (
                f"{feature.title} is not part of this release yet: it is planned for betcode {feature.introduced} or "
                f"later, enabled with {feature.setting}"
            )
        return f"{feature.title} is not enabled: set {feature.setting} to true in settings.json"

    def granted(self, requested: Iterable[str], client: str) -> tuple[list[str], list[str]]:
        """Return which of the requested features a client gets, and notices about them."""
        granted: list[str] = []
        warnings: list[str] = []
        for name in dict.fromkeys(requested):
            warning = self._against(name, client)
            if not warning:
                granted.append(name)
                record = self.deprecations.get(name)
                warning = f"{name} is deprecated and will be removed in {record.removal_version}" if record else ""
            if warning:
                warnings.append(warning)
        return granted, warnings

    def _against(self, name: str, client: str) -> str:
        feature = self.table.get(name)
        if feature is None or not feature.is_built or feature.stage == v1.REMOVED:
            return self.refusal(name)
        if not self.is_on(name):
            stage = " in alpha," if feature.stage == v1.ALPHA else " in beta," if feature.stage == v1.BETA else ""
            return f"{name}{stage} disabled: enable it in the settings with {feature.setting}"
        if feature.min_client and is_older(client, feature.min_client):
            return f"{name} needs a client of version {feature.min_client} or later"
        return ""

    def remarks(self) -> Iterator[str]:
        """Return notices about the settings of features, one sentence each."""
        for name, is_on in self._chosen.items():
            feature = self.table.get(name)
            setting = f"feature_flags.{name}"
            if feature is None:
                near = difflib.get_close_matches(name, self.table, n=1)
                yield f"unknown feature {setting}" + (f"; did you mean {near[0]}?" if near else "")
            elif feature.stage == v1.REMOVED:
                yield f"{setting} has no effect: it was removed in {feature.removal}"
            elif not feature.is_built:
                yield f"{setting} has no effect: {name} is not part of betcode {self.running}"
            elif feature.is_essential and not is_on:
                yield f"{setting} has no effect: {name} is essential"
            elif is_on and feature.stage == v1.DEPRECATED:
                yield f"{setting} enables a deprecated feature, which is removed in {feature.removal}"


def flag_message(feature: Feature, *, is_on: bool) -> v1.FeatureFlag:
    """Return a feature as a message for clients."""
    return v1.FeatureFlag(
        name=feature.name,
        description=feature.description,
        stage=feature.stage,
        introduced_version=feature.introduced,
        min_client_version=feature.min_client,
        deprecated_version=feature.deprecated,
        removal_version=feature.removal,
        is_enabled=is_on,
        is_built=feature.is_built and feature.stage != v1.REMOVED,
    )


def stage_faults(before: Mapping[str, str], table: tuple[Feature, ...] = FEATURES) -> Iterator[str]:
    """Return changes of stages since an earlier release that are not allowed, and removed flags."""
    now = {feature.name: feature for feature in table}
    for name, stage in before.items():
        if name not in now:
            yield f"{name} is missing in the table: a removed flag remains there as REMOVED"
            continue
        old, new = v1.FeatureStage.Value(stage), now[name].stage
        if new != old and new not in NEXT_STAGES[old]:
            yield f"{name} went from {stage} to {v1.FeatureStage.Name(new)}"
