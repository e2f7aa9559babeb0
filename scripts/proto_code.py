"""Generate the Python code of proto/ into src/, or (`--check`) tell whether the committed code is current."""

import argparse
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
SRC = ROOT / "src"
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def generate(target: Path) -> None:
    """Write the code of every file under proto/ below `target`."""
    files = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    plugins = Path(sys.executable).parent  # of this environment, whatever PATH says
    well_known = resources.files("grpc_tools") / "_proto"
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={well_known}",
        f"--plugin=protoc-gen-mypy={plugins / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={plugins / 'protoc-gen-mypy_grpc'}",
        f"--python_out={target}",
        f"--grpc_python_out={target}",
        f"--mypy_out=quiet:{target}",
        f"--mypy_grpc_out=quiet:{target}",
        *files,
    ]
    if protoc.main(arguments) != 0:
        sys.exit("proto: the files under proto/ do not compile; see above")


def generated(root: Path) -> dict[Path, bytes]:
    """The generated files below `root`, by their relative names."""
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*_pb2*")
        if path.name.endswith(SUFFIXES) and "__pycache__" not in path.parts
    }


def write() -> None:
    """Replace the generated code below src/, dropping what no .proto file stands for any more."""
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        fresh = generated(Path(directory))
    old = generated(SRC)
    for name in old.keys() - fresh.keys():
        (SRC / name).unlink()
    for name, content in fresh.items():
        if old.get(name) != content:
            (SRC / name).parent.mkdir(parents=True, exist_ok=True)
            (SRC / name).write_bytes(content)
    print(f"proto: {len(fresh)} files are current")


def check() -> None:
    """Leave with a message when the committed code is not what proto/ gives."""
    with tempfile.TemporaryDirectory() as directory:
        generate(Path(directory))
        fresh = generated(Path(directory))
    old = generated(SRC)
    stale = sorted(str(name) for name in old.keys() | fresh.keys() if old.get(name) != fresh.get(name))
    if stale:
        sys.exit("proto: generated code is not current, run `make proto`:\n  " + "\n  ".join(stale))
    print(f"proto: {len(fresh)} generated files are current")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something would change")
    check() if parser.parse_args().check else write()
