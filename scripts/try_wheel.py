"""Build the wheel, install it as a newcomer would (uv tool, pipx) in a fresh place, and have one turn with each."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.plugins.leftovers import end_leftovers  # noqa: E402

BIN = Path(sys.executable).parent
NEEDED = (
    "betcode/py.typed",
    "betcode/v1/agent_pb2_grpc.py",
    "obey/local/v1/local_pb2.pyi",
    "betcode/holder/program.py",
    "betcode/agents/demo/cassettes/tour.ndjson",
    "betcode/tui/screen.tcss",
)


SIZE_LIMIT_MB = 90  # of site-packages with bytecode, without extras


def say(text: str) -> None:
    print(f"wheel: {text}", flush=True)


def run(*command: str | Path, env: Mapping[str, str], cwd: Path = ROOT) -> str:
    """What a command prints; leaves with its output when it fails."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        sys.exit(f"wheel: `{shown}` ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def outside() -> dict[str, str]:
    """The environment without anything of this checkout's own."""
    own = {"VIRTUAL_ENV", "PYTHONPATH", "UV_PROJECT_ENVIRONMENT"}
    env = {name: value for name, value in os.environ.items() if name not in own and not name.startswith("BETCODE_")}
    if (index := env.get("PIP_INDEX_URL")) and "UV_DEFAULT_INDEX" not in env:
        env["UV_DEFAULT_INDEX"] = index
    return env


def build(target: Path) -> Path:
    """The wheel, after a look at what is in it."""
    say("building")
    run(BIN / "uv", "build", "--wheel", "--python", sys.executable, "--out-dir", target, env=outside())
    (wheel,) = target.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := [name for name in NEEDED if name not in names]:
        sys.exit(f"wheel: {wheel.name} lacks {', '.join(missing)}")
    if strays := sorted(
        {name.split("/")[0] for name in names}
        - {"betcode", "obey"}
        - {n.split("/")[0] for n in names if ".dist-info/" in n}
    ):
        sys.exit(f"wheel: {wheel.name} has more in it than it should: {', '.join(strays)}")
    return wheel


def have_a_turn(betcode: Path, home: Path) -> None:
    """Use an installed betcode for one turn with the demo agent, in a home of its own."""
    home.mkdir()
    places = {name: str(home / name.lower()) for name in ("BETCODE_STATE_DIR", "BETCODE_CONFIG_DIR")}
    env = outside() | places | {"HOME": str(home), "BETCODE_SOCKET": str(home / "socket" / "daemon.sock")}
    version = run(betcode, "--version", env=env, cwd=home).strip()
    run(betcode.with_name("obey"), "--version", env=env, cwd=home)
    try:
        answer = run(betcode, "run", "--provider", "demo", "hello", env=env, cwd=home)
    finally:
        subprocess.run([betcode, "daemon", "stop"], env=env, cwd=home, capture_output=True, timeout=60)
    if not answer.strip():
        sys.exit(f"wheel: {betcode} answered nothing")
    say(f"{version}: a turn of {len(answer.split())} words")


def check_size(packages: Path) -> None:
    """Leave if the default installation has become too large."""
    files = [path for path in packages.rglob("*") if path.is_file()]
    size_mb = sum(path.stat().st_size for path in files) / 1_000_000
    if size_mb > SIZE_LIMIT_MB:
        sys.exit(f"wheel: the default installation takes {size_mb:.1f} MB, and may take {SIZE_LIMIT_MB} MB")
    say(f"the default installation takes {size_mb:.1f} MB of at most {SIZE_LIMIT_MB} MB")


def check_extras(python: Path) -> None:
    """Leave if the default installation has an extra, or does not report a missing one."""
    code = (
        "from betcode.util.extras import EXTRAS, missing_extra; print(*map(missing_extra, EXTRAS.values()), sep='\\n')"
    )
    for line in run(python, "-I", "-c", code, env=outside()).strip().split("\n"):
        if "uv tool install" not in line:
            sys.exit(f"wheel: a missing extra is not reported: {line or 'nothing was printed'}")
        say(line)


def by_uv(wheel: Path, place: Path) -> Path:
    say("installing with uv tool")
    env = outside() | {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
    env["UV_COMPILE_BYTECODE"] = "1"
    run(BIN / "uv", "tool", "install", "--python", sys.executable, wheel, env=env)
    (packages,) = (place / "tools").glob("betcode/lib/python*/site-packages")
    check_size(packages)
    check_extras(place / "tools/betcode/bin/python")
    return place / "bin" / "betcode"


def by_pipx(wheel: Path, place: Path) -> Path:
    say("installing with pipx")
    run(BIN / "uv", "venv", "--python", sys.executable, place / "venv", env=outside())
    run(BIN / "uv", "pip", "install", "--python", place / "venv/bin/python", "pipx", env=outside())
    env = outside() | {
        "PIPX_HOME": str(place / "home"),
        "PIPX_BIN_DIR": str(place / "bin"),
        "PIPX_MAN_DIR": str(place / "man"),
    }
    run(place / "venv/bin/pipx", "install", "--python", sys.executable, wheel, env=env)
    return place / "bin" / "betcode"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="betcode-wheel-") as directory:
        try:
            try_out(Path(directory))
        finally:
            end_leftovers(Path(directory))  # a warm agent outlives its daemon


def try_out(top: Path) -> None:
    wheel = build(top / "dist")
    have_a_turn(by_uv(wheel, top / "uv"), top / "home-uv")
    if importlib.util.find_spec("ensurepip") is None:
        say("pipx is SKIPPED: it needs Python's ensurepip, which is not installed here")
    else:
        have_a_turn(by_pipx(wheel, top / "pipx"), top / "home-pipx")


if __name__ == "__main__":
    main()
