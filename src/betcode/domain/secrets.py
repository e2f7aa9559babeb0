"""Text without what looks like a secret."""

import re

_REDACTED = "[redacted]"
_WHOLE = (
    re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,20000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-)[A-Za-z0-9_-]{16,300}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{0,4000}"),
)
_BEHIND = (
    re.compile(r"(?i)(\b(?:bearer|basic)\s{1,4})[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)((?:password|passwd|secret|token|api[_-]?key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?)[^\s\"'&,;]{3,}"),
    re.compile(r"(://[^\s/:@]{0,200}:)[^\s/@]{1,200}(?=@)"),
)


def redacted(text: str) -> str:
    """The same text with keys, tokens and passwords taken out."""
    for pattern in _WHOLE:
        text = pattern.sub(_REDACTED, text)
    for pattern in _BEHIND:
        text = pattern.sub(rf"\1{_REDACTED}", text)
    return text
