"""How a daemon begins to listen on TCP, and when it refuses to; the command line over TCP."""

import os
import shutil
import socket
import sys
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode._version import __version__
from betcode.client import ClientError, NewConversation, open_client
from support.daemon.process import Daemon, becomes_true, obedient_daemon, running_daemon
from support.daemon.raw_calls import RawCalls
from support.daemon.tcp import address_of, by_tcp, certificate, token_file
from support.patience import PATIENCE_S
from support.plugins.requirements import absent
from support.processes.command import shell

pytestmark = pytest.mark.anyio


def refusal(root: Path, **daemon: object) -> tuple[int, str]:
    """The exit code of a daemon with these settings that does not start, and what it says."""
    refused = Daemon(root, settings={"daemon": daemon})
    process = refused.launch()
    code = process.wait(PATIENCE_S)
    return code, refused.stderr


def test_beyond_loopback_without_tls_is_refused_in_one_sentence(tmp_path: Path) -> None:
    code, says = refusal(tmp_path, listen="0.0.0.0:0")
    assert code == 5
    assert says.count("\n") == 1
    assert "daemon.listen 0.0.0.0:0 is beyond loopback and needs TLS: set daemon.tls_cert and daemon.tls_key" in says


def test_files_that_cannot_be_used_are_refused_in_one_sentence(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("x" * 40)
    token.chmod(0o644)
    code, says = refusal(tmp_path / "a", listen="127.0.0.1:0", token_file=str(token))
    assert (code, says) == (5, f"daemon.token_file: {token} can be read by other users: run chmod 600 on it\n")
    missing = str(tmp_path / "none.pem")
    code, says = refusal(tmp_path / "b", listen="127.0.0.1:0", tls_cert=missing, tls_key=missing)
    assert (code, says) == (5, f"daemon.tls_key: {missing} cannot be read: No such file or directory\n")


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        daemon = Daemon(tmp_path, settings={"daemon": {"listen": f"127.0.0.1:{port}"}})
        assert daemon.launch().wait(PATIENCE_S) == 1
    assert f"Cannot listen on 127.0.0.1:{port}: another program uses it" in daemon.log


def test_a_name_of_which_another_program_has_one_address_is_not_listened_at(tmp_path: Path) -> None:
    """Our clients would show that program the token."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        daemon = Daemon(tmp_path, settings={"daemon": {"listen": f"localhost:{port}"}})
        assert daemon.launch().wait(PATIENCE_S) == 1
    assert f"Cannot listen on localhost:{port}: another program uses it" in daemon.log


def is_ours(host: str) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        try:
            trial.bind((host, 0))
        except OSError:
            return False
    return True


async def test_localhost_is_listened_at_by_every_address_it_has(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, settings={"daemon": {"listen": "localhost:0"}}) as daemon:
        port = (await address_of(daemon)).port
        for host in filter(is_ours, ("127.0.0.1", "::1")):
            async with await anyio.connect_tcp(host, port):
                pass


def test_a_name_without_an_address_is_reported(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, settings={"daemon": {"health_listen": "no-such-machine.invalid:0"}})
    assert daemon.launch().wait(PATIENCE_S) == 1
    assert "Cannot listen on no-such-machine.invalid:0: the name does not resolve" in daemon.log


async def test_beyond_loopback_there_is_tls_and_nothing_in_clear(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    settings = {"daemon": {"listen": "0.0.0.0:0", "tls_cert": str(cert), "tls_key": str(key)}}
    async with running_daemon(tmp_path, settings=settings) as daemon:
        address = await address_of(daemon)
        credentials = grpc.ssl_channel_credentials(root_certificates=cert.read_bytes())
        async with aio.secure_channel(f"localhost:{address.port}", credentials) as channel:
            check: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert await check(b"", timeout=PATIENCE_S) == b"\x08\x01"
        async with aio.insecure_channel(f"127.0.0.1:{address.port}") as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            with pytest.raises(aio.AioRpcError) as refused:
                await check(b"", timeout=PATIENCE_S)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_our_client_talks_through_tls_and_believes_no_other_certificate(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path / "right")
    other, _ = certificate(tmp_path / "wrong")
    settings = {"daemon": {"listen": "localhost:0", "tls_cert": str(cert), "tls_key": str(key)}}
    async with running_daemon(tmp_path, settings=settings) as daemon:
        async with open_client(await by_tcp(daemon, tls_ca=cert)) as client:
            assert (await client.health()).metadata["pid"] == str(daemon.pid)
        async with open_client(await by_tcp(daemon, tls_ca=other)) as client:
            with pytest.raises(ClientError):
                await client.health()


@pytest.mark.behaviour("health.kubernetes")
async def test_probes_without_token_and_tls_have_an_address_where_nothing_else_is_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with (
        running_daemon(tmp_path, settings={"daemon": {"health_listen": f"0.0.0.0:{port}"}}) as daemon,
        aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel,
    ):
        for service in ("", "AgentService"):
            request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
            assert await RawCalls(channel).unary("/grpc.health.v1.Health/Check", request) == b"\x08\x01"
        with pytest.raises(aio.AioRpcError) as refused:
            await RawCalls(channel).unary("/betcode.v1.BetCodeHealth/GetHealthDetails", b"")
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert not token_file(daemon).exists()


async def test_limits_that_change_count_without_a_restart(tmp_path: Path) -> None:
    listen = {"daemon": {"listen": "127.0.0.1:0"}}
    async with (
        obedient_daemon(tmp_path, settings={**listen, "rate_limit": {"sessions_per_hour": 1}}) as daemon,
        open_client(await by_tcp(daemon)) as client,
    ):
        new = NewConversation(str(daemon.work), provider="claude")
        await client.start_session(new)
        with pytest.raises(ClientError) as refused:
            await client.start_session(new)
        assert refused.value.code == "RATE_LIMITED"
        daemon.reload({**listen, "rate_limit": {"sessions_per_hour": 0}})
        await becomes_true(lambda: "rate_limit.sessions_per_hour" in daemon.log)
        await client.start_session(new)


@pytest.mark.behaviour("exit-code.4", "error.details.retry-after")
def test_commands_work_by_tcp_and_a_rate_limit_is_exit_code_4(tmp_path: Path) -> None:
    settings = {"daemon": {"listen": "127.0.0.1:0"}, "rate_limit": {"sessions_per_hour": 1}}
    with shell(tmp_path, settings=settings) as here:
        here.run("daemon", "start")
        address = here.json("daemon", "status", "--json")["facts"]["tcp_address"]
        token = here.json("daemon", "status", "--json")["facts"]["config_dir"] + "/tcp.token"
        first = here.run("run", "--address", address, "say hello")
        assert (first.returncode, first.stdout.strip()) == (0, "hello"), first.stderr
        again = here.run("run", "say hello", BETCODE_ADDRESS=address)
        assert again.returncode == 4
        assert "Rate limit exceeded; try again in " in again.stderr
        assert here.run("daemon", "status", "--address", address).stdout.startswith("Daemon: SERVING")
        wrong = tmp_path / "wrong"
        wrong.write_text("w" * 40)
        wrong.chmod(0o600)
        refused = here.run("session", "list", "--address", address, "--token-file", str(wrong))
        assert (refused.returncode, "needs the daemon's token" in refused.stderr) == (3, True)
        assert here.run("session", "list", "--address", "no such:x").returncode == 5
        for local in (("daemon", "stop"), ("daemon", "logs"), ("daemon", "install"), ("db", "check"), ("db", "repair")):
            refused = here.run(*local, "--address", address)
            assert (refused.returncode, "own machine" in refused.stderr) == (5, True), local
        elsewhere = ("--state-dir", str(tmp_path / "elsewhere"))
        seen = here.json("version", "--json", "--address", address, "--token-file", token, *elsewhere)
        assert seen["daemon"]["version"] == __version__
        assert "settings of this machine" in here.run("config", "show", "--address", address).stderr
        assert here.run("session", "list", "--address", "127.0.0.1:1").returncode == 2


def test_a_command_reports_why_it_cannot_connect_by_tls(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path / "right")
    other, _ = certificate(tmp_path / "wrong")
    with socket.create_server(("127.0.0.1", 0)) as free:
        health = f"127.0.0.1:{free.getsockname()[1]}"
    listen = {"listen": "localhost:0", "tls_cert": str(cert), "tls_key": str(key), "health_listen": health}
    with shell(tmp_path, settings={"daemon": listen}) as here:
        here.run("daemon", "start")
        address = here.json("daemon", "status", "--json")["facts"]["tcp_address"].replace("127.0.0.1", "localhost")
        nothing = tmp_path / "nothing.pem"
        nothing.write_text("nothing")

        def said(*options: str) -> tuple[int, str]:
            done = here.run("session", "list", *options)
            return done.returncode, done.stderr

        code, words = said("--address", address)
        assert (code, "give its CA with --tls-ca" in words) == (2, True), words
        code, words = said("--address", address, "--tls-ca", str(other))
        assert (code, words.count("\n"), "its certificate is not trusted" in words) == (2, 1, True), words
        code, words = said("--address", address, "--tls-ca", str(nothing))
        assert (code, words) == (5, f"betcode: {nothing} contains no PEM certificates\n")
        code, words = said("--address", health)
        assert (code, "this address serves only health checks" in words) == (5, True), words
        assert said("--address", address, "--tls-ca", str(cert)) == (0, "")
        lines = here.paths.daemon_log.read_text().splitlines()
        assert all(line.startswith("{") for line in lines), lines  # what strangers do at the door is not in the log


CONNECT = "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


async def connects(socket: Path, *as_whom: str) -> bool:
    """Whether a program of that user can connect."""
    argv = [*as_whom, shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-c", CONNECT, str(socket)]
    done = await anyio.run_process(argv, check=False)
    assert done.returncode == 0 or b"PermissionError" in done.stderr, done.stderr
    return done.returncode == 0


async def test_another_local_user_cannot_open_the_sockets(tmp_path: Path) -> None:
    setpriv = shutil.which("setpriv")
    if os.getuid() != 0 or setpriv is None:
        absent("setpriv", "only root can be another user")
    nobody = (setpriv, "--reuid=65534", "--regid=65534", "--clear-groups")
    for directory in (tmp_path, *tmp_path.parents[:2]):  # those that pytest made
        directory.chmod(0o755)  # nothing but our own modes is in the way
    async with running_daemon(tmp_path) as daemon:
        sockets = (daemon.paths.socket, daemon.paths.ticket_socket)
        for path in sockets:
            assert await connects(path)
            assert not await connects(path, *nobody)
        daemon.paths.socket.parent.chmod(0o755)
        for path in sockets:
            assert not await connects(path, *nobody), "its own mode keeps them out as well"
        assert not token_file(daemon).exists(), "nothing is made where nobody listens"
