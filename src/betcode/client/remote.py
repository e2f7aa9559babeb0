"""The TCP channel to a daemon: with TLS, or in clear text on this machine only."""

from collections.abc import Sequence

import grpc

from betcode.client.errors import Refused
from betcode.config.paths import Remote
from betcode.config.token_file import WrongToken, read_token
from betcode.domain.error_codes import ErrorCode

_ASKED_EVERY_S, _ANSWERED_WITHIN_S = 20.0, 10.0  # detects a suspended laptop or a lost network


def keepalive(every_s: float, within_s: float) -> Sequence[tuple[str, int]]:
    """Return options that ping a silent peer while a stream is open, and disconnect it without an answer."""
    within_ms = int(within_s * 1000)
    return (
        ("grpc.keepalive_time_ms", int(every_s * 1000)),
        ("grpc.keepalive_timeout_ms", within_ms),
        ("grpc.http2.ping_timeout_ms", within_ms),
    )


def open_remote(remote: Remote, options: Sequence[tuple[str, int]]) -> tuple[str, grpc.aio.Channel]:
    """Return the token and a channel that is safe for it.

    Raises:
        Refused: the token or the CA file cannot be read; nothing was sent.
    """
    try:
        token = read_token(remote.token_file)
        roots = remote.tls_ca.read_bytes() if remote.tls_ca is not None else None
    except WrongToken as wrong:
        raise _unusable(f"The daemon's token: {wrong}", ErrorCode.UNAUTHENTICATED) from None
    except OSError as error:
        raise _unusable(f"{remote.tls_ca} cannot be read: {error.strerror}", ErrorCode.INVALID_REQUEST) from None
    if roots is not None:
        _refuse_other_than_certificates(remote, roots)
    target = str(remote.address)
    options = (*options, *keepalive(_ASKED_EVERY_S, _ANSWERED_WITHIN_S))
    if remote.address.is_loopback and roots is None:
        # A proxy would connect to its own loopback, and to a foreign port.
        own = (*options, ("grpc.enable_http_proxy", 0))
        return token, grpc.aio.insecure_channel(target, options=own)
    credentials = grpc.ssl_channel_credentials(root_certificates=roots)
    return token, grpc.aio.secure_channel(target, credentials, options=options)


def _refuse_other_than_certificates(remote: Remote, roots: bytes) -> None:
    """Raise Refused for an invalid CA file; gRPC would only log it and report that nobody answers."""
    import ssl  # imported here: few commands need it, and it is slow

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=roots.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise _unusable(f"{remote.tls_ca} contains no PEM certificates", ErrorCode.INVALID_REQUEST) from None


def _unusable(message: str, code: ErrorCode) -> Refused:
    return Refused(message, code=code, details={}, status=grpc.StatusCode.UNAUTHENTICATED)
