"""What README.md shows to programs works when it is copied."""

import re
import subprocess
import sys
from pathlib import Path

from support.patience import PATIENCE_S
from support.processes.command import shell

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_runs_and_prints_the_answer_once(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    with shell(tmp_path) as here:
        program = tmp_path / "example.py"
        program.write_text(blocks[0].replace("/path/to/project", str(here.work)), encoding="utf-8")
        assert here.run("daemon", "start").returncode == 0
        argv = [sys.executable, str(program)]
        done = subprocess.run(argv, env=here.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "you said: Run the tests and fix what fails.\n"
