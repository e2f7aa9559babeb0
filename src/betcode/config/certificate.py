"""Check a certificate file before use: its format, its key and its expiry."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from betcode.config.load import WrongSetting
from betcode.config.plain_file import read_plain

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_PRIVATE_KEY, _PASSWORD = b"PRIVATE KEY-----", (b"ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED")
_LARGEST_BYTES = 1024 * 1024
# In DER encoding: RSA, and ECDSA with P-256 or P-384. gRPC's TLS accepts others too, and then no client can connect.
_USABLE_KEYS = ("06092a864886f70d010101", "06072a8648ce3d020106082a8648ce3d030107", "06072a8648ce3d020106052b81040022")
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
    _refuse_wrong(cert, key, *data)
    try:
        # A key with a password would be asked for on a terminal that a daemon has not.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", "") or str(error)
        raise WrongSetting(f"daemon.tls_cert and daemon.tls_key cannot be used together: {reason}") from None
    return data[0], data[1]


def _refuse_wrong(cert: Path, key: Path, key_data: bytes, cert_data: bytes) -> None:
    """Reject wrong files here, because the libraries' messages are not helpful."""
    if _BEGIN.encode() not in cert_data:
        raise WrongSetting(f"daemon.tls_cert: {cert} contains no certificate (PEM)")
    if _PRIVATE_KEY not in key_data:
        raise WrongSetting(f"daemon.tls_key: {key} contains no private key (PEM)")
    if any(mark in key_data for mark in _PASSWORD):
        raise WrongSetting(f"daemon.tls_key: {key} is encrypted with a password: remove the password")
    try:
        kind = next(_parts(_fields(cert)[5][1]))[1].hex()
    except (ValueError, LookupError, StopIteration):
        return  # the library that reads it next reports the error
    if not kind.startswith(_USABLE_KEYS):
        raise WrongSetting(
            f"daemon.tls_cert: {cert} uses a key type that clients do not accept: create a key with RSA, P-256 or P-384"
        )


def valid_until(cert: Path) -> datetime:
    """Return when the first certificate of the file expires.

    Raises:
        ValueError: no certificate can be read.
    """
    kind, moment = list(_parts(_fields(cert)[3][1]))[1]
    shape = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}[kind]
    return datetime.strptime(moment.decode("ascii"), shape).replace(tzinfo=UTC)


def _fields(cert: Path) -> list[tuple[int, bytes]]:
    """Serial number, algorithm, issuer, validity, subject, public key and more, of the file's first certificate."""
    text = read_plain(cert, _LARGEST_BYTES).decode("ascii", errors="replace")
    begin, end = text.find(_BEGIN), text.find(_END)
    if begin < 0 or end < begin:
        raise ValueError("no certificate")
    (whole,) = _parts(ssl.PEM_cert_to_DER_cert(text[begin : end + len(_END)] + "\n"))
    to_be_signed = next(_parts(whole[1]), (0, b""))[1]
    fields = [part for part in _parts(to_be_signed) if part[0] != _EXPLICIT_0]  # the version, if present
    if [kind for kind, _ in fields[:4]] != [_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE]:
        raise ValueError("no certificate")
    return fields


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
