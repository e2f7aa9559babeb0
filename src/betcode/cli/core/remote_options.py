"""The options for a daemon that is reached by TCP, and what they and the environment say together."""

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


def remote_of(chosen: argparse.Namespace, environ: Mapping[str, str], places: "Paths") -> "Remote | None":
    """The daemon that is meant; None: the one at the socket. Who names a socket means that one.

    Raises:
        CommandFailed: the address is none.
    """
    text = chosen.address or ("" if chosen.socket else environ.get("BETCODE_ADDRESS", ""))
    if not text:
        return None
    # Few commands need them, and all would pay for them.
    from pathlib import Path

    from betcode.config.paths import Remote
    from betcode.config.tcp_address import parse_address
    from betcode.config.token_file import NAME
    from betcode.config.units import NotUnderstood

    try:
        address = parse_address(text)
    except NotUnderstood as wrong:
        raise CommandFailed(f"--address must be {wrong}, not {text!r}", ExitCode.INVALID_ARGUMENTS) from None
    token = chosen.token_file or environ.get("BETCODE_TOKEN_FILE") or places.config_dir / NAME
    authority = chosen.tls_ca or environ.get("BETCODE_TLS_CA")
    return Remote(address, Path(token).expanduser(), Path(authority).expanduser() if authority else None)


# What gRPC says of a handshake that failed, and what a person can do about it.
_HANDSHAKES = (
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted on this machine: give its CA with --tls-ca"),
    ("Hostname Verification Check failed", "its certificate is for a different host name"),
    ("WRONG_VERSION_NUMBER", "it does not use TLS, or is not a betcode daemon"),
)


def why_silent(remote: "Remote", reason: str) -> str:
    """Why nobody answers by TCP, in words of ours where the usual troubles are behind it."""
    for sign, words in _HANDSHAKES:
        if sign in reason:
            return words
    if remote.address.is_loopback and remote.tls_ca is None and "Socket closed" in reason:
        return "it closed an unencrypted connection, as a daemon with TLS does: give its CA with --tls-ca"
    return reason


def refuse_remote(places: "Paths") -> None:
    """Raises CommandFailed where a command works on the daemon's own machine alone."""
    if places.remote is not None:
        raise CommandFailed(
            f"Run this on the daemon's own machine; {places.remote.address} may be another",
            ExitCode.INVALID_ARGUMENTS,
        )
