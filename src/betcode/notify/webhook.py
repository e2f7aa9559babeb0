"""A notification posted to a web address: JSON, signed, tried again where that may help."""

import hashlib
import hmac
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from betcode.config.plain_file import read_plain
from betcode.domain.permissions.notification import Notification
from betcode.notify.detached_thread import run_detached
from betcode.notify.programs import NotSent

ATTEMPTS = 8
FIRST_WAIT_S = 0.5  # then twice as long each time
TIME_LIMIT_S = 10.0  # of one attempt, from the lookup of its name to the head of the answer
CONNECT_LIMIT_S = 4.0  # to the server or its proxy
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_KEY_LIMIT_BYTES = 4096


class _TryAgain(Exception):
    """It may get through later."""


def signature(key: bytes, at_s: int, body: bytes) -> str:
    """Return the value that the receiver compares: HMAC-SHA256 of "TIME.BODY", in hex, with the time."""
    mac = hmac.new(key, b"%d." % at_s + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={mac}"


async def post(notification: Notification, url: str, secret_file: str) -> None:
    """Raises NotSent when it was refused, or not taken after the last attempt."""
    body, to = notification.as_json(), urlsplit(url)
    key = await anyio.to_thread.run_sync(_read_key, Path(secret_file))
    for attempt in range(ATTEMPTS):
        try:
            status = await _post_once(url, body, key, notification.notification_id)
        except _TryAgain as trouble:
            if attempt + 1 == ATTEMPTS:
                raise NotSent(f"{to.hostname} did not accept it after {ATTEMPTS} attempts: {trouble}") from None
            await anyio.sleep(FIRST_WAIT_S * 2**attempt)
            continue
        if not 200 <= status < 300:  # a redirect is not followed: only the owner decides where data is sent
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


async def _post_once(url: str, body: bytes, key: bytes, delivery: str) -> int:
    """Return the status of one attempt; the connection is closed."""
    headers = {
        "User-Agent": "betcode",
        "Content-Type": "application/json",
        "X-Betcode-Delivery": delivery,  # the same at every attempt
        "X-Betcode-Signature": signature(key, int(time.time()), body),
    }
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            status = await run_detached(lambda: _request(url, body, headers))
    except TimeoutError as error:
        raise _TryAgain(type(error).__name__) from None
    if status in _AGAIN:
        raise _TryAgain(f"status {status}")
    return status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other: the owner named one receiver."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class _Connection(http.client.HTTPConnection):
    """Connects quickly or not at all, and then waits longer for the answer."""

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(TIME_LIMIT_S)


class _SecureConnection(http.client.HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(TIME_LIMIT_S)


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req)


def _request(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Return the status of the answer, whose body is not read. Uses the proxies of the daemon's environment. Blocks.

    Raises:
        _TryAgain: there was no answer.
        NotSent: the address or a proxy setting cannot be used.
    """
    try:
        opener = urllib.request.build_opener(_NoRedirect, _Http, _Https)
        request = urllib.request.Request(url, body, dict(headers), method="POST")  # noqa: S310 - settings accept only http(s)
        with opener.open(request, timeout=CONNECT_LIMIT_S) as response:
            return int(response.status)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code
    except (ValueError, http.client.InvalidURL):
        raise NotSent("the address or a proxy setting cannot be used") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, str):  # not an exception of a connection: urllib does not know the protocol
            raise NotSent("the address or a proxy setting cannot be used") from None
        raise _TryAgain(type(error.reason).__name__) from None
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgain(type(error).__name__) from None
