"""A certificate file, looked at before it is used: is it one, does its key fit, and until when does it hold."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from betcode.config.loading import WrongSetting
from betcode.config.plain_file import read_plain

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_LARGEST_BYTES = 1024 * 1024
_SEQUENCE, _INTEGER, _EXPLICIT_0, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x02, 0xA0, 0x17, 0x18


def read_pair(cert: Path, key: Path) -> tuple[bytes, bytes]:
    """The key and the chain, as gRPC takes them.

    Raises:
        WrongSetting: a file cannot be read, or they do not belong together.
    """
    data = []
    for name, path in (("daemon.tls_key", key), ("daemon.tls_cert", cert)):
        try:
            data.append(read_plain(path, _LARGEST_BYTES))
        except OSError as error:
            raise WrongSetting(f"{name}: {path} cannot be read: {error.strerror}") from None
    try:
        # A key with a password would be asked for on a terminal that a daemon has not.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", "") or str(error)
        raise WrongSetting(f"daemon.tls_cert and daemon.tls_key cannot be used together: {reason}") from None
    return data[0], data[1]


def valid_until(cert: Path) -> datetime:
    """When the first certificate of the file runs out.

    Raises:
        ValueError: there is none that can be read.
    """
    text = cert.read_text(encoding="ascii", errors="replace")
    begin, end = text.find(_BEGIN), text.find(_END)
    if begin < 0 or end < begin:
        raise ValueError("no certificate")
    (whole,) = _parts(ssl.PEM_cert_to_DER_cert(text[begin : end + len(_END)] + "\n"))
    to_be_signed = next(_parts(whole[1]))[1]
    fields = [part for part in _parts(to_be_signed) if part[0] != _EXPLICIT_0]  # the version, where it is told
    # serial number, algorithm, issuer, validity
    if [kind for kind, _ in fields[:4]] != [_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE]:
        raise ValueError("no certificate")
    kind, moment = list(_parts(fields[3][1]))[1]
    shape = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}[kind]
    return datetime.strptime(moment.decode("ascii"), shape).replace(tzinfo=UTC)


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The DER values one after the other, each by its kind and content."""
    while data:
        if len(data) < 2:
            raise ValueError("cut short")
        kind, length, begin = data[0], data[1], 2
        if length & 0x80:
            begin += length & 0x7F
            length = int.from_bytes(data[2:begin])
        if len(data) < begin + length:
            raise ValueError("cut short")
        yield kind, data[begin : begin + length]
        data = data[begin + length :]
