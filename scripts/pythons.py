"""Run the fast tests on each Python that pyproject.toml names, in an environment of its own below .cache/.

The Python of .venv is left out, since `make test` runs on it. A Python that is not on this machine is reported and
skipped; with --require it is an error.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("-q", "-n", "2", "--dist", "loadfile", "-m", "not wide", "tests/unit", "tests/contract")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (\d+\.\d+)")


def claimed(classifiers: Sequence[str]) -> list[str]:
    """The versions that the classifiers name, such as 3.12."""
    return [found[1] for each in classifiers if (found := _CLASSIFIER.fullmatch(each))]


def candidates(version: str, path: str, pyenv: Path) -> Iterator[Path]:
    """Where an interpreter may be: on the PATH, or among the versions of pyenv, whose shims may refuse to run."""
    yield from (Path(directory) / f"python{version}" for directory in path.split(os.pathsep) if directory)
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)


def works(python: Path, version: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=30)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def test_on(version: str, python: Path) -> int:
    """The exit code of the tests on an interpreter."""
    place = f".cache/python-{version}"
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    env |= {"BETCODE_VENV": place, "PYTHON": str(python)}
    if (code := subprocess.run(["sh", "scripts/setup.sh", "work"], cwd=ROOT, env=env).returncode) != 0:
        return code
    return subprocess.run([f"{place}/bin/python", "-m", "pytest", *TESTS], cwd=ROOT, env=env).returncode


def main(arguments: Sequence[str]) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = "{}.{}".format(*sys.version_info[:2])
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    failed = False
    for version in claimed(project["classifiers"]):
        if version == own:
            continue
        found = (one for one in candidates(version, os.environ.get("PATH", ""), pyenv) if works(one, version))
        python = next(found, None)
        if python is None:
            print(f"pythons: Python {version} is SKIPPED: it is not on this machine", flush=True)
            failed |= "--require" in arguments
            continue
        print(f"pythons: the fast tests on {python}", flush=True)
        failed |= test_on(version, python) != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
