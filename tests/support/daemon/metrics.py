"""What a daemon serves for Prometheus, scraped and parsed as Prometheus would."""

import json
import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from support.daemon.process import Daemon

Samples = Mapping[tuple[str, str], float]  # by name and the label's value


def metrics_port(daemon: Daemon) -> int:
    """The port that the log names, of the last start."""
    entries = [json.loads(line) for line in daemon.log.splitlines()]
    return [int(entry["port"]) for entry in entries if entry["message"] == "metrics are served for Prometheus"][-1]


def scraped_text(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        text: bytes = answer.read()
    return text.decode()


def samples(text: str) -> Samples:
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, ",".join(sample.labels.values())] = sample.value
    return found
