"""Commands one after the other in one process, which spares each the time to load: for tests of many commands.

As a program: arguments, variables and whether somebody reads stdout, a line for each call on stdin; and a line with
code, stdout and stderr for each on stdout.
"""

import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from support.paths import TESTS


@dataclass(frozen=True, slots=True)
class Called:
    code: int
    stdout: str
    stderr: str


class Calling:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(self, arguments: Sequence[str], *, is_read: bool = True, **variables: str) -> Called:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([list(arguments), variables, is_read]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the process that calls commands has ended"
        return Called(*json.loads(answer))


@contextmanager
def calling(environment: Mapping[str, str], work: Path, program: str = "betcode.cli.main") -> Iterator[Calling]:
    """Without a terminal, in one environment and one place."""
    source = Path(__file__).resolve()
    with subprocess.Popen(
        [sys.executable, "-P", str(source), program],  # -P: modules beside it are not those of the same name
        env={**environment, "PYTHONPATH": str(TESTS)},
        cwd=work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Calling(process)
        finally:
            process.kill()


def main(program: str) -> None:
    run = importlib.import_module(program).run
    # gRPC's poller meets loops that are over; a command has a process and a loop of its own.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    asked = os.fdopen(os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for line in asked:
        arguments, variables, is_read = json.loads(line)
        os.environ.update(variables)
        with tempfile.TemporaryFile("w+") as file, tempfile.TemporaryFile("w+") as err:
            out = file if is_read else _unread()
            with redirect_stdout(out), redirect_stderr(err):
                code = run(arguments)
            said = [int(code), _all_of(file), _all_of(err)]
        for name in variables:
            del os.environ[name]
        print(json.dumps(said), flush=True)


def _unread() -> IO[str]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def _all_of(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


if __name__ == "__main__":
    main(sys.argv[1])
