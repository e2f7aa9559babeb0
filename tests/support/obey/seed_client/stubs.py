"""Stubs for a client that has the published text of the obey API and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

PUBLISHED = Path(__file__).with_name("local.proto")


def compiled(directory: Path) -> Path:
    """The directory, with the modules local_pb2 and local_pb2_grpc in it.

    The text names messages that it does not define: to a client that knows no more they are empty.
    """
    text = PUBLISHED.read_text(encoding="utf-8")
    service = re.search(r"^service .*?^}", text, re.DOTALL | re.MULTILINE)
    assert service is not None
    named = re.findall(r"\((?:stream )?(\w+)\)", service[0])
    defined = set(re.findall(r"^message (\w+)", text, re.MULTILINE))
    empty = (f"message {name} {{}}\n" for name in dict.fromkeys(named) if name not in defined)
    (directory / "local.proto").write_text(text + "\n" + "".join(empty), encoding="utf-8")
    where = [f"--{each}={directory}" for each in ("proto_path", "python_out", "grpc_python_out")]
    subprocess.run([sys.executable, "-I", "-m", "grpc_tools.protoc", *where, "local.proto"], check=True, timeout=60)
    return directory
