"""The image of the container, as far as its file says."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.behaviour("health.docker")
def test_the_image_asks_the_health_service_as_often_as_promised() -> None:
    probe = 'HEALTHCHECK --interval=30s --timeout=10s --retries=3 CMD ["betcode", "daemon", "health"]'
    assert probe in DOCKERFILE.splitlines()


def test_the_image_has_an_init_and_is_nobody_special() -> None:
    assert 'ENTRYPOINT ["/usr/bin/tini", "--"]' in DOCKERFILE
    assert "USER betcode" in DOCKERFILE


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        word
        for line in DOCKERFILE.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert copied <= allowed
    assert all((ROOT / name).exists() for name in copied)
