"""Attached files and the real CLI: what the model is given, what history keeps, and what is refused."""

import base64
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from betcode.client.errors import Refused
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.error_codes import ErrorCode
from support.apis.messages.script import say
from support.daemon.session import assert_whole, is_idle, settled_text
from support.files import GIF, JPEG, PDF, WEBP, png
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

FILES = (
    AttachedFile("picture.png", "image/png", png()),
    AttachedFile("photo of a cat.jpg", "image/jpeg", JPEG),
    AttachedFile("moving.gif", "image/gif", GIF),
    AttachedFile("modern.webp", "", WEBP),
    AttachedFile("paper.pdf", "application/pdf", PDF),
    AttachedFile("Größe <1>.txt", "text/plain", "Grüße\n".encode()),
)


def given(world: World) -> list[dict[str, Any]]:
    """The blocks of people's messages in the model's newest request."""
    messages = [message for message in world.api.requests[-1].conversation if message["role"] == "user"]
    return [block for message in messages for block in message["content"] if isinstance(block, dict)]


@pytest.mark.behaviour("converse.message.attachments")
async def test_the_model_is_given_every_file_with_its_name_type_and_bytes(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"look": [say("Seen.")]}) as world:
        talk = await world.session()
        await world.client.send(talk.session_id, "[[fake:look]] at these", FILES)
        events = await talk.until(is_idle)
        assert settled_text(events) == "Seen."
        sources = [block["source"] for block in given(world) if "source" in block]
        shown = [(source["media_type"], base64.b64decode(source["data"])) for source in sources]
        types = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
        assert shown == list(zip(types, (file.data for file in FILES), strict=False))
        texts = [block["text"].strip() for block in given(world) if block["type"] == "text"]
        for file, kind in zip(FILES[:5], types, strict=True):
            assert f'<file name="{file.filename}" type="{kind}" />' in texts
        assert '<file name="Größe &lt;1&gt;.txt" type="text/plain">\nGrüße\n\n</file>' in texts
        said = next(event.user_input for event in talk.events if event.HasField("user_input"))
        assert list(said.attachments) == [file.filename for file in FILES]
        for file, kept in zip(FILES, said.stored_attachments, strict=True):
            async with aclosing(world.client.read_blob(talk.session_id, kept.sha256)) as pieces:
                assert b"".join([piece async for piece in pieces]) == file.data
            assert (kept.filename, kept.size_bytes) == (file.filename, len(file.data))
        async with aclosing(world.client.export(talk.session_id, "markdown")) as pages:
            assert f"[picture.png, image/png, {len(png())} bytes]" in b"".join([page async for page in pages]).decode()


async def test_large_files_reach_the_agent_and_what_it_cannot_take_is_refused_before_it_is_stored(
    tmp_path: Path,
) -> None:
    async with claude_world(tmp_path, {"look": [say("Seen.")]}) as world:
        talk = await world.session()
        large = AttachedFile("large.pdf", "application/pdf", PDF + b"\n%0123456789abcd" * (9 << 16))  # 9 MiB
        for refused in (
            AttachedFile("program.bin", "application/octet-stream", b"\x7fELF\xff\x00"),
            AttachedFile("not.png", "image/png", b"text"),
        ):
            with pytest.raises(Refused) as refusal:
                await world.client.send(talk.session_id, "[[fake:look]]", (large, refused))
            assert refusal.value.code == ErrorCode.INVALID_REQUEST
            assert refused.filename in refusal.value.message + str(refusal.value.details)
        assert (await talk.summary()).last_sequence == 1
        await world.client.send(talk.session_id, "[[fake:look]]", (large,))
        assert settled_text(await talk.until(is_idle)) == "Seen."
        (source,) = [block["source"] for block in given(world) if block["type"] == "document"]
        assert base64.b64decode(source["data"]) == large.data
        assert_whole(talk.events)
