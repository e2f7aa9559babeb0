"""Detect secrets in text and redact them, for logs, notifications and exports.

A list of detectors finds secrets by a known shape or by the name of the field. It is a filter, not a proof: a secret
without a name that looks like an ordinary word is not detected. Every pattern needs time linear in the text: repeats
are bounded, or begin only where the run before them ended.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of secret: what `secret` matches in the pattern is taken out, where it is likely to be one."""

    name: str
    hints: tuple[str, ...]  # small letters; a text without any of them has none of its kind
    pattern: str  # compiled when it is first needed: the daemon starts sooner without
    likely: Callable[[str], bool] = lambda _secret: True
    flags: re.RegexFlag = re.NOFLAG

    def hide(self, text: str) -> str:
        """Return the text with each secret of this kind replaced by a mark."""
        return re.sub(self.pattern, self._mark, text, flags=self.flags)

    def _mark(self, match: re.Match[str]) -> str:
        whole, secret = match[0], match["secret"]
        if secret.startswith(_MARKED) or not self.likely(secret):
            return whole
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        return f"{whole[:start]}{_MARKED}{self.name}]{whole[end:]}"


def redacted(text: str) -> str:
    """Return the text with each likely secret replaced by the name of its kind."""
    small = text.lower()  # searching for keywords is much faster than any pattern, and most texts have none
    for detector in DETECTORS:
        if any(hint in small for hint in detector.hints):
            text = detector.hide(text)
    return text


def is_secret_name(name: str) -> bool:
    """Return whether a value with this name is likely to be a secret, whatever it looks like."""
    return bool(_TELLING.search(name) or _HINTING.search(name))


def redacted_json(text: str) -> str:
    """Return a JSON text with every string redacted, and whole values with secret names; valid JSON if it was."""
    small = text.lower()
    if "\\u" not in small and not any(hint in small for hint in _HINTS):  # letters may be written as numbers
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redacted(text)
    hidden = _without_secrets(value)
    return text if hidden == value else json.dumps(hidden, ensure_ascii=False)


def _without_secrets(value: object) -> object:
    match value:
        case str():
            return redacted(value)
        case list():
            return [_without_secrets(item) for item in value]
        case dict():
            return {redacted(name): _behind(name, item) for name, item in value.items()}
        case _:
            return value


def _behind(name: str, value: object) -> object:
    """Return secrets that only name and value together reveal."""
    match value:
        case bool():
            return value
        case str():
            hidden = redacted(value)
            told = (_TELLING.search(name) and _said(value)) or (_HINTING.search(name) and _dense(value))
            return f"{_MARKED}password]" if told and hidden == value else hidden
        case int() if _TELLING.search(name) and value >= _SHORTEST_PIN:
            return f"{_MARKED}password]"
        case _:
            return _without_secrets(value)


def _said(secret: str) -> bool:
    """Return whether it is a real value, not a placeholder: a word for none, a row of stars, a variable."""
    word = secret.strip("\\").lower()
    if word.startswith(("/", "./", "~/")):
        return _dense(secret)  # the name of a file reveals nothing
    return word not in _NO_SECRETS and len(set(word)) > 1 and not word.startswith(("$", "<", "{{", "%("))


def _worded(secret: str) -> bool:
    """Return whether it is a real value, and no count either."""
    return _said(secret) and any(c.isalpha() for c in secret)


def _mixed(secret: str) -> bool:
    """Letters and digits: prose has one kind."""
    return any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret)


def _dense(secret: str) -> bool:
    """Return whether it has as many different characters as a random text, unlike a word, a path or a number."""
    text = secret.strip("=")
    count = len(text)
    bits = -sum(n / count * math.log2(n / count) for n in Counter(text).values()) if count else 0.0
    return _mixed(text) and bits >= (_HEX_BITS if _HEX.fullmatch(text) else _TEXT_BITS)


_MARKED: Final = "[redacted:"
_HEX_BITS: Final = 2.8  # of 4
_TEXT_BITS: Final = 3.5  # of 6
_HEX = re.compile(r"[0-9a-fA-F]*")
_NO_SECRETS = frozenset(
    ["true", "false", "null", "none", "nil", "undefined", "str", "string", "int", "bool", "bytes", "optional", "any",
     "required", "yes", "no", "on", "off", "password", "passwd", "token", "secret", "your-password", "your-token",
     "example", "changeme", "redacted", "hidden"]
)  # fmt: skip
_NAME: Final = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|(?:auth|access|refresh|id|bearer|api)?"
    r"[_-]?token|(?:api|access|private|account|signing|encryption|master)[_-]?key|credentials?)"
)
_NAME_HINTS: Final = "pass pwd secret token key credential"
_HINT: Final = r"(?:key|auth|signature|sig|salt|cookie|pass|pw)"
_TELLING = re.compile(rf"(?:{_NAME}|[_-]pass)\Z", re.IGNORECASE)
_HINTING = re.compile(rf"{_HINT}\Z", re.IGNORECASE)
_SHORTEST_PIN: Final = 1000
_IS: Final = r"\\{0,3}[\"']?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}"
_QUOTED: Final = r"(?P<quote>\\{0,3}[\"'])(?P<secret>[^\r\n]{1,512}?)(?P=quote)"
_WORD: Final = r"(?P<quote>\\{0,3}[\"']|)(?P<secret>[^\r\n]{1,200}?)(?P=quote)(?=[\s\\\"';|&]|\Z)"  # of a shell
_BARE: Final = r"[^\s\"'&;,|()<>{}\[\]`\\]"


def _detector(
    name: str,
    hints: str,
    pattern: str,
    likely: Callable[[str], bool] = lambda _secret: True,
    flags: re.RegexFlag = re.NOFLAG,
) -> Detector:
    return Detector(name, tuple(hints.split()), pattern, likely, flags)


def _token(name: str, hints: str, pattern: str, likely: Callable[[str], bool] = lambda _secret: True) -> Detector:
    """Match a token with a shape of its own that is not part of a word."""
    return _detector(name, hints, rf"(?<![A-Za-z0-9_-])(?P<secret>{pattern})", likely)


DETECTORS: Final[tuple[Detector, ...]] = (
    _detector(
        "private-key",
        "-----begin",
        r"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)",
    ),
    _token("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
    ),
    _token("gitlab-token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,300}"),
    _token("slack-token", "xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,300}"),
    _detector(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,200})",
    ),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,300}"),
    _token("openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,300}", _mixed),
    _token("stripe-key", "k_live_ k_test_ whsec_", r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,300}"),
    _token("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    _token("google-key", "aiza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _token(
        "package-token", "npm_ pypi- hf_", r"(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,300}|hf_[A-Za-z0-9]{30,60})"
    ),
    _token("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _detector("url-password", "://", r"://[^\s/:@\"'<>\[]{0,256}:(?P<secret>[^\s/\"'<>]{1,512})@", _said),
    _detector(
        "authorization",
        "authorization",
        rf"\bauthorization{_IS}\\{{0,3}}[\"']?"
        r"(?:(?:basic|bearer|token|apikey|digest|negotiate) {1,4}"
        r"|(?:[a-z][a-z0-9-]{0,20} {1,4})?(?=[^\s\"']{0,200}[0-9=+/]))(?P<secret>[^\s\"'$<>{\\]{6,})",
        flags=re.IGNORECASE,
    ),
    _detector("bearer-token", "bearer", r"\bbearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,})", _mixed, re.IGNORECASE),
    _detector(
        "user-password",
        "-u --user --proxy-user",
        r"(?<!\S)(?:-u|--user|--proxy-user)(?: |=|\\?[\"'])\\?[\"']?[A-Za-z0-9._@-]{1,64}:"
        r"(?P<secret>[^\s\"'\\]{1,200})",
        _said,
    ),
    _detector("password", "mysql mariadb", rf"\b(?:mysql|mariadb)[^\r\n|;&]{{0,200}}?[ \t]-p(?=\S){_WORD}", _said),
    _detector("password", "sshpass", rf"\bsshpass[ \t]{{1,4}}(?:-v[ \t]{{1,4}})?-p[ \t]{{0,4}}{_WORD}", _said),
    _detector(
        "password",
        "login",
        rf"\b(?:docker|podman|buildah|skopeo|az|oc) login\b[^\r\n|;&]{{0,200}}?[ \t]-p[ \t]{{1,4}}{_WORD}",
        _said,
    ),
    _detector("password", _NAME_HINTS, rf"{_NAME}{_IS}{_QUOTED}", _said, re.IGNORECASE),
    _detector("password", "pass=", rf"(?<![a-z])pass={_QUOTED}", _worded, re.IGNORECASE),
    _detector("password", "pass=", rf"(?<![a-z])pass=(?P<secret>{_BARE}{{3,512}})", _worded, re.IGNORECASE),
    _detector("password", _NAME_HINTS, rf"{_NAME}=(?P<secret>{_BARE}{{3,512}})", _said, re.IGNORECASE),
    _detector(
        "password",
        _NAME_HINTS,
        rf"{_NAME}{_IS}(?P<secret>{_BARE}{{6,512}})",
        lambda secret: _mixed(secret) and _said(secret),
        re.IGNORECASE,
    ),
    _detector(
        "password", _NAME_HINTS, rf"--{_NAME}[ \t]{{1,4}}\\?[\"']?(?P<secret>{_BARE}{{3,512}})", _said, re.IGNORECASE
    ),
    _detector(
        "key",
        "key auth sig salt cookie pass pw",
        rf"{_HINT}{_IS}\\{{0,3}}[\"']?(?P<secret>[A-Za-z0-9+/=_-]{{20,}})",
        _dense,
        re.IGNORECASE,
    ),
)
"""In this order: what has a shape of its own is named for it, before what only stands behind a name."""
_HINTS = frozenset(hint for detector in DETECTORS for hint in detector.hints)
