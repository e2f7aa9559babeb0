"""Which files are taken, as what, and what is said of the others."""

import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.errors import InvalidRequest
from betcode.engine.shell.attachments import TOTAL_BYTES, checked
from support.files import GIF, JPEG, PDF, WEBP, png

SETTINGS = EngineSettings()


@pytest.mark.parametrize(
    ("said", "data", "taken"),
    [
        ("image/png", png(), "image/png"),
        ("IMAGE/JPG; q=1", JPEG, "image/jpeg"),
        ("image/gif", GIF, "image/gif"),
        ("", WEBP, "image/webp"),
        ("application/octet-stream", PDF, "application/pdf"),
        ("application/x-pdf", PDF, "application/pdf"),
        ("", b"words", "text/plain"),
        ("text/markdown", b"# words", "text/markdown"),
        ("text/x-tex", b"about %PDF-1.4", "text/x-tex"),
        ("application/json", b"{}", "application/json"),
        ("", b"\xff\x00", "application/octet-stream"),
    ],
)
def test_a_file_is_what_its_bytes_show(said: str, data: bytes, taken: str) -> None:
    (file,) = checked((AttachedFile("Über uns.bin", said, data),), SETTINGS)
    assert (file.mime_type, file.filename, file.data) == (taken, "Über uns.bin", data)


@pytest.mark.parametrize(
    ("name", "said", "data", "says"),
    [
        ("a.png", "image/png", b"I am text", "declared as image/png but is text"),
        ("a.png", "image/png", GIF, "declared as image/png but is image/gif"),
        ("a.pdf", "application/pdf", b"\xff\x00", "but is something else"),
        ("a.png", "image/png", b"", "is empty"),
        ("", "text/plain", b"x", "file 1 has no name"),
        ("two\nlines.txt", "text/plain", b"x", "line breaks"),
        ("/etc/passwd", "text/plain", b"x", "remove directories"),
        ("..\\x.txt", "text/plain", b"x", "remove directories"),
        ("..", "text/plain", b"x", "remove directories"),
        ("a.txt", "text/plain\nimage/png", b"x", "is not a MIME type"),
        ("a.txt", "words", b"x", "is not a MIME type"),
        ("a.txt", "text/" + "x" * 100_000, b"x", "is not a MIME type"),
        ("\u202egnp.txt", "text/plain", b"x", "control characters"),
        ("ü" * 128, "text/plain", b"x", "more than 255 bytes"),
        ("a.txt", "text/plain", b"x" * (SETTINGS.attachment_limit_bytes + 1), "'a.txt' has 10,485,761 bytes"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_sentence(name: str, said: str, data: bytes, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says) as refused:
        checked((AttachedFile(name, said, data),), SETTINGS)
    assert "\n" not in refused.value.message


def test_all_files_of_a_message_together_are_bounded() -> None:
    half = AttachedFile("a.txt", "text/plain", b"x" * (TOTAL_BYTES // 2))
    assert checked((half, half), SETTINGS)
    with pytest.raises(InvalidRequest, match="in all"):
        checked((half, half, AttachedFile("b.txt", "text/plain", b"x")), SETTINGS)
