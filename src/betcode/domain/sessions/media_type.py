"""Detect the media type of a file by its first bytes and by its declared type. No I/O."""

_PDF_WITHIN = 1024  # readers take a PDF that begins a little later
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}
RECOGNISED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})


def kind_of(data: bytes) -> str:
    """Return the MIME type that the bytes show; empty if they show none that we recognise."""
    for beginning, kind in _KINDS.items():
        if data.startswith(beginning):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if b"%PDF-" in data[:_PDF_WITHIN] else ""


def declared(mime_type: str) -> str:
    """Return the sender's type, without parameters and normalized; empty if there is none."""
    kind = mime_type.partition(";")[0].strip().lower()
    return "" if kind == "application/octet-stream" else _ALIASES.get(kind, kind)


def is_text(data: bytes) -> bool:
    """Return whether it is text; text contains no NUL."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
