"""Images in the system clipboard, with any installed program."""

from pathlib import Path

import pytest

from betcode.domain.agents.commands import AttachedFile
from betcode.tui.composer.clipboard import NoImage, clipboard_image, unwrapped
from support.files import png

pytestmark = pytest.mark.anyio


@pytest.fixture
def bin_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:relative")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return tmp_path


def install(directory: Path, line: str) -> None:
    program = directory / "xclip"
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)


async def test_an_image_is_attached_with_its_type(bin_directory: Path) -> None:
    (bin_directory / "image").write_bytes(png())
    install(bin_directory, f'test "$4" = image/png && exec /bin/cat {bin_directory}/image')
    assert await clipboard_image(3) == AttachedFile("clipboard-3.png", "image/png", png())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("exit 1", "contains no image"),
        ("echo words", "contains no image"),
        ("exec /bin/cat /dev/zero", "larger than 10 MB"),
    ],
)
async def test_a_clipboard_without_an_image_is_reported(bin_directory: Path, line: str, says: str) -> None:
    install(bin_directory, line)
    found = await clipboard_image(1)
    assert isinstance(found, NoImage)
    assert says in found.message


async def test_a_missing_clipboard_program_is_reported(bin_directory: Path) -> None:
    found = await clipboard_image(1)
    assert isinstance(found, NoImage)
    assert "No clipboard program" in found.message


def test_the_output_of_applescript_is_unwrapped() -> None:
    assert unwrapped("«data PNGf89504E47»\n".encode()) == b"\x89PNG"
    assert unwrapped(b"\x89PNG") == b"\x89PNG"
