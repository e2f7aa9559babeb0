"""Agents of others, installed from npm once per checkout; tests that need one are skipped, or fail, without it.

BINARY = "node_modules/.bin/codex"

@pytest.fixture(scope="session")
def codex() -> Path:
    return npm_agent("codex", "@openai/codex@0.166.0") / BINARY
"""

import fcntl
import functools
import os
import pwd
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.paths import ROOT
from support.plugins.requirements import absent

_PLACE = ROOT / ".cache" / "agents"
_INSTALLED_WITHIN_S = 300.0
_TRIED_AGAIN_AFTER_S = 600.0  # where the registry could not be reached
_LAST_WORDS = 300
_CA_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


def npm_agent(name: str, package: str) -> Path:
    """The directory that has this package, as `name@version`, below `node_modules`.

    Where npm is missing, or the registry cannot be reached, the test is skipped, or fails if `name` is required.
    """
    place, trouble = _installed(package)
    if trouble:
        absent(name, f"{package} is absent: {trouble}")
    return place


@functools.cache
def _installed(package: str) -> tuple[Path, str]:
    place = _PLACE / re.sub(r"[^\w.@-]+", "-", package).strip("-")
    whole = place / "installed"
    if whole.exists():
        return place, ""
    npm = shutil.which("npm")
    if npm is None:
        return place, "there is no npm to install it with"
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place / "lock"):  # tests run side by side
        if whole.exists():
            return place, ""
        failed = place / "failed"
        if failed.exists() and time.time() - failed.stat().st_mtime < _TRIED_AGAIN_AFTER_S:
            return place, failed.read_text()
        trouble = _install(npm, package, place)
        (failed if trouble else whole).write_text(trouble)
        return place, trouble


def _install(npm: str, package: str, place: Path) -> str:
    """Why it could not be; empty: it was."""
    command = [npm, "install", "--prefix", str(place), "--no-fund", "--no-audit", "--no-save", "--ignore-scripts"]
    command += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", package]
    environment = npm_environment(os.environ, Path(pwd.getpwuid(os.getuid()).pw_dir))
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALLED_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"npm took more than {_INSTALLED_WITHIN_S:g} s"
    if done.returncode:
        return f"npm failed: {' '.join(done.stderr.decode(errors='replace').split())[-_LAST_WORDS:]}"
    return ""


def npm_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """What npm needs under a clean HOME, too: the CA bundle of the machine and the npm configuration of the user."""
    environment = {**environ, "npm_config_cache": str(_PLACE / "npm-cache"), "npm_config_update_notifier": "false"}
    bundles = (environ.get("SSL_CERT_FILE", ""), *_CA_BUNDLES)
    bundle = next((path for path in bundles if path and Path(path).is_file()), "")
    if bundle:
        environment.setdefault("NODE_EXTRA_CA_CERTS", bundle)
    own = Path(environ.get("HOME") or home) / ".npmrc"
    if not own.exists() and (home / ".npmrc").exists():
        environment.setdefault("npm_config_userconfig", str(home / ".npmrc"))
    return environment


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
