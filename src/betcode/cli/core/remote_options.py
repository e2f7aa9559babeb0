"""The options for a daemon that is reached over TCP, combined with the environment."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from betcode.cli.core.exit_codes import CommandFailed, ExitCode

if TYPE_CHECKING:
    from betcode.config.paths import Paths, Remote


def add_remote(group: argparse._ArgumentGroup, *, top: bool) -> None:
    for flag, metavar, says in (
        ("--address", "HOST[:PORT]", "connect to a daemon over TCP instead of the local socket (BETCODE_ADDRESS)"),
        (
            "--token-file",
            "PATH",
            "token file of that daemon (BETCODE_TOKEN_FILE; default: tcp.token in the config directory)",
        ),
        ("--tls-ca", "PATH", "trust this CA certificate, PEM (BETCODE_TLS_CA)"),
    ):
        group.add_argument(flag, metavar=metavar, default=None if top else argparse.SUPPRESS, help=says)


def remote_of(chosen: argparse.Namespace, environ: Mapping[str, str], paths: "Paths") -> "Remote | None":
    """Return the remote daemon; None for the local socket. An explicit socket takes precedence.

    Raises:
        CommandFailed: the address is invalid.
    """
    text = chosen.address or ("" if chosen.socket else environ.get("BETCODE_ADDRESS", ""))
    if not text:
        return None
    # Imported here: few commands need them, and they slow down every start.
    from pathlib import Path

    from betcode.config.paths import Remote
    from betcode.config.tcp_address import parse_address
    from betcode.config.token_file import NAME
    from betcode.config.units import NotUnderstood

    try:
        address = parse_address(text)
    except NotUnderstood as wrong:
        raise CommandFailed(f"--address must be {wrong}, not {text!r}", ExitCode.INVALID_ARGUMENTS) from None
    token = chosen.token_file or environ.get("BETCODE_TOKEN_FILE") or paths.config_dir / NAME
    authority = chosen.tls_ca or environ.get("BETCODE_TLS_CA")
    return Remote(address, Path(token).expanduser(), Path(authority).expanduser() if authority else None)


# Parts of gRPC's messages about failed handshakes, and a remedy for each.
_HANDSHAKES = (
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted on this machine: give its CA with --tls-ca"),
    ("Hostname Verification Check failed", "its certificate is for a different host name"),
    ("WRONG_VERSION_NUMBER", "it does not use TLS, or is not a betcode daemon"),
)


def why_silent(remote: "Remote", reason: str) -> str:
    """Return why the daemon does not answer over TCP, with a remedy for common causes."""
    for sign, words in _HANDSHAKES:
        if sign in reason:
            return words
    if remote.address.is_loopback and remote.tls_ca is None and "Socket closed" in reason:
        return "it closed an unencrypted connection, as a daemon with TLS does: give its CA with --tls-ca"
    return reason


def refuse_remote(paths: "Paths") -> None:
    """Raises CommandFailed if a command only works on the daemon's own machine."""
    if paths.remote is not None:
        raise CommandFailed(
            f"Run this on the daemon's own machine; {paths.remote.address} may be another",
            ExitCode.INVALID_ARGUMENTS,
        )
