"""What `betcode doctor --repair` refuses to move."""

from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest

from betcode.cli.core.exit_codes import CommandFailed
from betcode.cli.core.options import options_from
from betcode.cli.core.parser import build_parser
from betcode.cli.doctor import repair
from betcode.holder.run_check import RunFault

pytestmark = pytest.mark.anyio


async def test_a_directory_of_runs_that_cannot_be_listed_is_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = "`runs` cannot be used: Permission denied"

    def denied(runs_dir: Path) -> Iterator[RunFault]:  # root may list every directory
        yield RunFault(runs_dir.name, problem, is_run=False, is_outside=True, can_be_set_aside=False)

    monkeypatch.setattr(repair, "run_faults", denied)
    argv = ["--state-dir", str(tmp_path), "doctor", "--repair", "--yes"]
    options = options_from(build_parser().parse_args(argv), {"HOME": str(tmp_path)})
    (tmp_path / "runs").mkdir()
    with pytest.raises(CommandFailed) as refused:
        await anyio.to_thread.run_sync(repair.repair, options)
    assert problem in str(refused.value)
    assert "chmod 700" in str(refused.value)
    assert (tmp_path / "runs").is_dir()
