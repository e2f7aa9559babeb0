"""The table of metrics: what both exports, the documents and the dashboard are made of."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from betcode.domain.metrics.counts import Counts, DecisionOutcome, Distribution
from betcode.telemetry.metrics import METRICS, Gauges, MetricKind, Readings
from betcode.telemetry.prometheus import exposed

ROOT = Path(__file__).parent.parent.parent.parent
SEED = {
    "betcode_sessions_active": ("gauge", ""),
    "betcode_subprocess_spawns_total": ("counter", ""),
    "betcode_subprocess_crashes_total": ("counter", ""),
    "betcode_messages_processed_total": ("counter", ""),
    "betcode_permission_decisions_total": ("counter", "type"),
    "betcode_grpc_clients_connected": ("gauge", ""),
    "betcode_turn_duration_seconds": ("histogram", ""),
    "betcode_tokens_total": ("counter", "direction"),
}


def some_readings() -> Readings:
    counts = Counts(subprocess_spawns=3)
    counts.requests.deprecations_used["old_thing"] = 2
    counts.permission_decisions[DecisionOutcome.TIMEOUT] = 4
    for seconds in (0.4, 2.0, 9999.0):
        counts.turns.add(seconds)
    return Readings(counts, Gauges(sessions_active=2), {"traces": 1, "metrics": 0})


def test_names_kinds_and_labels_are_those_that_were_promised() -> None:
    table = {metric.name: (metric.kind.value, metric.label) for metric in METRICS}
    assert SEED.items() <= table.items()
    assert len(table) == len(METRICS)
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)


def test_a_label_has_exactly_the_values_that_are_declared() -> None:
    for metric in METRICS:
        labels = {
            str(label)
            for label, _ in metric.read(Readings(Counts(), Gauges(), dict.fromkeys(("traces", "metrics"), 0)))
        }
        assert labels == (set(metric.values) if metric.label else {""}), metric.name


def test_a_distribution_counts_what_is_at_or_below_each_bound() -> None:
    spread = Distribution((1, 5))
    for value in (0.5, 1.0, 3.0, 5.1):
        spread.add(value)
    assert (spread.buckets, spread.count, spread.total) == ([2, 1, 1], 4, 9.6)


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_both_text_formats_say_the_same(accept: str) -> None:
    text, content_type = exposed(some_readings(), accept)
    lines = text.decode().splitlines()
    assert content_type.startswith("application/openmetrics-text" if accept else "text/plain")
    assert "betcode_subprocess_spawns_total 3.0" in lines
    assert 'betcode_permission_decisions_total{type="timeout"} 4.0' in lines
    assert 'betcode_deprecations_used_total{feature="old_thing"} 2.0' in lines
    assert 'betcode_turn_duration_seconds_bucket{le="2.5"} 2.0' in lines
    assert 'betcode_turn_duration_seconds_bucket{le="+Inf"} 3.0' in lines
    assert "betcode_turn_duration_seconds_sum 10001.4" in lines
    if accept:
        families = text_string_to_metric_families(text.decode())  # type: ignore[no-untyped-call]
        names = {family.name for family in families}
        assert {metric.name.removesuffix("_total") for metric in METRICS} == names


def test_the_dashboard_names_only_metrics_that_there_are_and_shows_all_that_were_promised() -> None:
    dashboard = json.loads((ROOT / "docs" / "dashboards" / "betcode.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    named = {name for query in queries for name in re.findall(r"betcode_\w+", query)}
    there = {metric.name for metric in METRICS}
    of_histograms = {
        f"{metric.name}_{part}"
        for metric in METRICS
        if metric.kind is MetricKind.HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    assert named <= there | of_histograms
    shown = {re.sub("_(bucket|sum|count)$", "", name) if name in of_histograms else name for name in named}
    assert set(SEED) <= shown
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def test_the_documents_name_every_metric_and_no_other() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    table = text.split("<!-- metrics: ")[1].split("<!-- /metrics -->")[0]
    assert set(re.findall(r"^\| `(betcode_\w+)", table, re.MULTILINE)) == {metric.name for metric in METRICS}


@pytest.mark.behaviour("telemetry.off-by-default")
def test_nothing_of_the_exporters_is_imported_before_it_is_turned_on() -> None:
    program = """
import sys, threading, anyio
import betcode.daemon.run
from betcode.domain.metrics.counts import Counts
from betcode.telemetry.export import open_telemetry

async def main():
    async with open_telemetry(Counts(), "1") as telemetry:
        assert telemetry.traces is None and not telemetry.troubles
        assert threading.active_count() == 1

anyio.run(main)
heavy = {"opentelemetry", "prometheus_client", "requests", "urllib3"} & {name.split(".")[0] for name in sys.modules}
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
