"""A notification posted to a web address: JSON, signed, tried again where that may help."""

import hashlib
import hmac
import time
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
from anyio.abc import ByteStream

from betcode.config.plain_file import read_plain
from betcode.domain.notification import Notification
from betcode.notify.lookup import addresses_of
from betcode.notify.programs import NotSent

ATTEMPTS = 8
FIRST_WAIT_S = 0.5  # then twice as long each time
TIME_LIMIT_S = 10.0  # of one attempt, from the lookup of its name to the answer's first line
CONNECT_LIMIT_S = 4.0  # to one of its addresses
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_KEY_LIMIT_BYTES = 4096
_LINE_LIMIT_BYTES = 4096


class _TryAgain(Exception):
    """It may get through later."""


def signature(key: bytes, at_s: int, body: bytes) -> str:
    """What the receiver compares: HMAC-SHA256 of "TIME.BODY", in hex, beside the time."""
    mac = hmac.new(key, b"%d." % at_s + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={mac}"


async def post(notification: Notification, url: str, secret_file: str) -> None:
    """Raises NotSent when it was refused, or not taken after the last attempt."""
    body, to = notification.as_json(), urlsplit(url)
    key = await anyio.to_thread.run_sync(_read_key, Path(secret_file))
    for attempt in range(ATTEMPTS):
        try:
            status = await _post_once(to, body, key, notification.notification_id)
        except _TryAgain as trouble:
            if attempt + 1 == ATTEMPTS:
                raise NotSent(f"{to.hostname} did not take it, {ATTEMPTS} times: {trouble}") from None
            await anyio.sleep(FIRST_WAIT_S * 2**attempt)
            continue
        if not 200 <= status < 300:  # a redirect is not followed: where it goes is the owner's word alone
            raise NotSent(f"{to.hostname} refused it: status {status}")
        return


def _read_key(path: Path) -> bytes:
    try:
        key = read_plain(path, _KEY_LIMIT_BYTES).strip()
    except OSError as error:
        raise NotSent(f"the signing key {path} cannot be read: {error.strerror}") from error
    if not key:
        raise NotSent(f"the signing key {path} is empty")
    return key


async def _post_once(to: SplitResult, body: bytes, key: bytes, delivery: str) -> int:
    """The status of one attempt; no connection is kept."""
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            async with await _connected(to) as stream:
                await stream.send(_head(to, body, key, delivery) + body)
                status = await _status(stream)
    except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise _TryAgain(type(error).__name__) from None
    if status in _AGAIN:
        raise _TryAgain(f"status {status}")
    return status


async def _connected(to: SplitResult) -> ByteStream:
    """To the first of its addresses that takes us."""
    host, is_secure = to.hostname or "", to.scheme == "https"
    port = to.port or (443 if is_secure else 80)
    trouble: OSError | TimeoutError = OSError("it has no address")
    for address in await addresses_of(host, port):
        try:
            with anyio.fail_after(CONNECT_LIMIT_S):
                if is_secure:
                    return await anyio.connect_tcp(
                        address, port, tls=True, tls_hostname=host, tls_standard_compatible=False
                    )
                return await anyio.connect_tcp(address, port)
        except (OSError, TimeoutError) as error:
            trouble = error
    raise trouble


def _head(to: SplitResult, body: bytes, key: bytes, delivery: str) -> bytes:
    path = (to.path or "/") + (f"?{to.query}" if to.query else "")
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: {to.netloc}",
        "User-Agent: betcode",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"X-Betcode-Delivery: {delivery}",  # the same at every attempt
        f"X-Betcode-Signature: {signature(key, int(time.time()), body)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


async def _status(stream: ByteStream) -> int:
    line = b""
    while b"\n" not in line:
        if len(line) > _LINE_LIMIT_BYTES:
            raise _TryAgain("no HTTP")
        line += await stream.receive(_LINE_LIMIT_BYTES)
    words = line.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise _TryAgain("no HTTP")
    return int(words[1])
