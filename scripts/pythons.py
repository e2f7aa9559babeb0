"""Run the fast tests on the other Pythons of this machine, each in an environment of its own below .cache/.

These are the versions that the classifiers of pyproject.toml name, and the newer ones in NEWER. The Python of .venv is
left out, since `make test` runs on it. The last lines say which versions were tested and which are absent. With
--require, a version of the classifiers that is absent is an error if this machine's package manager has it.
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
NEWER = ("3.12", "3.13")  # in no classifier: a bare Debian machine cannot install them, so that CI may not test them
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


def can_be_installed(version: str) -> bool:
    """Whether Debian's package manager, if there is one, has this Python."""
    try:
        done = subprocess.run(["apt-cache", "show", f"python{version}"], capture_output=True, timeout=60)
    except OSError:
        return False
    return done.returncode == 0


def report(tested: Sequence[str], failed: Sequence[str], absent: Sequence[str]) -> None:
    print(f"pythons: tested: {', '.join(tested) or 'none'}")
    if failed:
        print(f"pythons: FAILED on: {', '.join(failed)}")
    print(f"pythons: absent from this machine, not tested: {', '.join(absent) or 'none'}", flush=True)


def main(arguments: Sequence[str]) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = "{}.{}".format(*sys.version_info[:2])
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = claimed(project["classifiers"])
    tested, failed, absent = [f"{own} (by make test)"], [], []
    for version in dict.fromkeys((*named, *NEWER)):
        if version == own:
            continue
        found = (one for one in candidates(version, os.environ.get("PATH", ""), pyenv) if works(one, version))
        python = next(found, None)
        if python is None:
            absent.append(version)
            continue
        print(f"pythons: the fast tests on {python}", flush=True)
        tested.append(version)
        if test_on(version, python) != 0:
            failed.append(version)
    report(tested, failed, absent)
    missing = [version for version in absent if version in named and can_be_installed(version)]
    if "--require" in arguments and missing:
        print(f"pythons: install these, which pyproject.toml names: {', '.join(missing)}", file=sys.stderr)
        return 1
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
