"""A daemon that listens on TCP too, and ways to call it there."""

import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from grpc import aio

from betcode.client import open_client
from betcode.config.paths import Paths, Remote
from betcode.config.tcp_address import TcpAddress, parse_address
from support.daemon.process import Daemon
from support.plugins.requirements import program

LOOPBACK: Mapping[str, object] = {"listen": "127.0.0.1:0"}


def token_file(daemon: Daemon) -> Path:
    return daemon.paths.config_dir / "tcp.token"


async def address_of(daemon: Daemon) -> TcpAddress:
    """Where it listens, as it says itself."""
    async with open_client(daemon.paths) as client:
        return parse_address((await client.health()).metadata["tcp_address"])


async def by_tcp(daemon: Daemon, *, tls_ca: Path | None = None) -> Paths:
    """The same daemon, reached by TCP."""
    return replace(daemon.paths, remote=Remote(await address_of(daemon), token_file(daemon), tls_ca))


@asynccontextmanager
async def tcp_channel(daemon: Daemon) -> AsyncIterator[aio.Channel]:
    """A connection of its own, as another program would have it; without a token."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    async with aio.insecure_channel(str(await address_of(daemon)), options=options) as channel:
        yield channel


P_256 = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def certificate(directory: Path, days: int = 30, kind: Sequence[str] = P_256, password: str = "") -> tuple[Path, Path]:
    """A certificate for localhost that vouches for itself, and its key."""
    directory.mkdir(parents=True, exist_ok=True)
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = [program("openssl"), "req", "-x509", "-newkey", *kind]
    command += ["-passout", f"pass:{password}"] if password else ["-nodes"]
    command += ["-days", str(days), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key
