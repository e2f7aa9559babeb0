"""Exports: everything in JSON, a readable whole in Markdown and HTML, and nothing that was said is more than text."""

import json
from collections.abc import AsyncIterator, Iterable
from html.parser import HTMLParser

import pytest

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import Batch
from betcode.domain.values.identifiers import Seq
from betcode.server.export import FORMATS, exported, exporter_for
from betcode.v1 import agent_pb2 as v1

pytestmark = pytest.mark.anyio

EVIL = """</pre><script src="https://evil.example/x.js">steal()</script><img src=https://evil.example/p.png onerror=a>
" onmouseover="b() &lt; <!-- ]]> \x1b[31m \u202eturned \x00"""


class Tags(HTMLParser):
    """What a reader of the page would see as markup, and as text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def numbered(*events: v1.AgentEvent) -> list[v1.AgentEvent]:
    for seq, event in enumerate(events, start=1):
        event.sequence = seq
        event.timestamp.seconds = 1_700_000_000 + seq
    return list(events)


def delta(text: str, message_id: str = "m", *, settled: bool = False) -> v1.AgentEvent:
    return v1.AgentEvent(text_delta=v1.TextDelta(text=text, is_complete=settled, message_id=message_id))


def tool(output: str, *, name: str = "Bash") -> tuple[v1.AgentEvent, v1.AgentEvent]:
    return (
        v1.AgentEvent(tool_call_start=v1.ToolCallStart(tool_id="t", tool_name=name, input_json='{"command": "ls"}')),
        v1.AgentEvent(tool_call_result=v1.ToolCallResult(tool_id="t", output=output)),
    )


async def export(file_format: str, events: Iterable[v1.AgentEvent], *, name: str = "A name", raw: bool = False) -> str:
    async def batches() -> AsyncIterator[Batch]:
        for event in events:
            yield Batch(Seq(event.sequence), Seq(event.sequence), (event.SerializeToString(),))

    session = v1.SessionSummary(id="019a", name=name, provider="demo", working_directory="/w")
    pieces = exported(exporter_for(file_format), session, batches(), raw=raw)
    return b"".join([piece async for piece in pieces]).decode()


@pytest.mark.parametrize("file_format", FORMATS)
async def test_what_looks_like_a_secret_in_a_tools_input_is_left_out_unless_it_is_wanted(file_format: str) -> None:
    whole = '{"command": "mysql --password=tiger", "env": {"token": "tiger"}}'
    start = v1.ToolCallStart(tool_id="t", tool_name="Bash", input_json=whole, description="login --token tiger")
    start.input.update({"command": "mysql --password=tiger", "timeout": 5})
    asked = v1.PermissionRequest(request_id="token=r", tool_name="Bash", input_json=whole, segments=["--token tiger"])
    asked.grant_offers.add(pattern="Bash(mysql --password=tiger)")
    resolved = v1.PermissionResolved(request_id="r", updated_input_json=whole, grant_pattern="Bash(a --token=tiger)")
    reminder = v1.PermissionReminder(request_id="r", tool_name="Bash", description="login --token tiger")
    granted = v1.Notice(kind=v1.NOTICE_KIND_GRANT, message="Bash(a --token=tiger) is granted for this session")
    granted.details["pattern"] = "Bash(a --token=tiger)"
    events = numbered(
        v1.AgentEvent(tool_call_start=start),
        v1.AgentEvent(permission_request=asked),
        v1.AgentEvent(permission_resolved=resolved),
        v1.AgentEvent(permission_reminder=reminder),
        v1.AgentEvent(notice=granted),
    )
    hidden = await export(file_format, events)
    assert "tiger" not in hidden
    assert "redacted:password" in hidden
    assert "tiger" in await export(file_format, events, raw=True)
    if file_format == "json":
        [tool_call, request, *_] = json.loads(hidden)["events"]
        assert tool_call["tool_call_start"]["input"] == {
            "command": "mysql --password=[redacted:password]",
            "timeout": 5,
        }
        assert request["permission_request"]["request_id"] == "token=r"


TALK = numbered(
    v1.AgentEvent(user_input=v1.UserInput(content="list the files", attachments=["a.png"])),
    delta("There "),
    delta("are"),
    delta("There are two", settled=True),
    *tool("one\ntwo"),
    v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason="end_turn")),
    delta("and then it bro", "n"),
    v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason="cancelled")),
    delta("never end", "o"),
)


async def test_json_has_the_session_and_every_event() -> None:
    told = json.loads(await export("json", TALK))
    assert (told["session"]["id"], told["session"]["name"]) == ("019a", "A name")
    assert [event["sequence"] for event in told["events"]] == list(range(1, len(TALK) + 1))
    assert told["events"][0]["user_input"]["content"] == "list the files"
    assert json.loads(await export("json", ()))["events"] == []


@pytest.mark.parametrize("file_format", ["markdown", "html"])
async def test_people_read_settled_text_once_and_what_was_cut_short(file_format: str) -> None:
    text = await export(file_format, TALK)
    order = ["A name", "list the files", "[a.png]", "There are two", "Bash", "one\ntwo", "and then it bro", "never end"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert text.count("There are") == 1
    assert text.count("cut short") == 2
    assert "cancelled" in text
    assert "2023-11-14 22:13:21 UTC" in text


@pytest.mark.parametrize("file_format", ["markdown", "html"])
async def test_a_settled_text_that_was_cut_off_says_so(file_format: str) -> None:
    partial = delta("I was about", settled=True)
    partial.text_delta.is_partial = True
    text = await export(file_format, numbered(delta("I was "), partial, delta("All of it", "n", settled=True)))
    assert text.count("cut short") == 1
    assert text.index("cut short") < text.index("I was about") < text.index("All of it")


@pytest.mark.parametrize("file_format", ["markdown", "html"])
async def test_plans_lists_and_messages_that_were_not_answered_are_readable(file_format: str) -> None:
    items = [v1.TodoItem(subject="read", status=v1.COMPLETED), v1.TodoItem(subject="write", status=v1.PENDING)]
    cancelled = v1.MessageStateChange(message_id="m", state=v1.MESSAGE_STATE_CANCELLED, reason="withdrawn")
    consumed = v1.MessageStateChange(message_id="n", state=v1.MESSAGE_STATE_CONSUMED, reason="not shown")
    text = await export(
        file_format,
        numbered(
            v1.AgentEvent(plan_mode=v1.PlanModeChange(active=True, plan="First read,\nthen write")),
            v1.AgentEvent(plan_mode=v1.PlanModeChange(active=False)),
            v1.AgentEvent(todo_update=v1.TodoUpdate(items=items)),
            v1.AgentEvent(message_state=cancelled),
            v1.AgentEvent(message_state=consumed),
        ),
    )
    order = ["Plan", "First read,", "then write", "Plan mode is off", "[x] read", "[ ] write", "withdrawn"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "not shown" not in text


async def test_nothing_that_was_said_is_markup_in_the_page() -> None:
    events = numbered(
        v1.AgentEvent(user_input=v1.UserInput(content=EVIL, attachments=[EVIL])),
        delta(EVIL, settled=True),
        *tool(EVIL, name=EVIL),
        v1.AgentEvent(error=v1.ErrorEvent(message=EVIL)),
        delta(EVIL, "n"),
    )
    page = await export("html", events, name=EVIL)
    seen = Tags()
    seen.feed(page)
    own = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "section", "small", "pre"}
    assert seen.tags == own
    assert seen.attributes == {"lang", "charset", "http-equiv", "content", "name", "class"}
    assert "default-src 'none'" in page
    assert "<script" in seen.text  # there to be read
    assert not any(letter in page for letter in "\x00\x1b\u202e")


@pytest.mark.parametrize("file_format", FORMATS)
async def test_no_control_character_reaches_a_terminal_through_an_export(file_format: str) -> None:
    evil = "\x1b]0;title\x07 \x9b31m \x85 \u202e \x7f \rover"
    events = numbered(
        v1.AgentEvent(user_input=v1.UserInput(content=evil, attachments=[evil])),
        delta(evil, settled=True),
        *tool(evil, name=evil),
        v1.AgentEvent(error=v1.ErrorEvent(message=evil)),
    )
    text = await export(file_format, events, name=evil)
    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}
    if file_format == "json":
        assert json.loads(text)["events"][1]["text_delta"]["text"] == evil  # nothing is lost


async def test_what_is_quoted_in_markdown_stays_in_its_quote() -> None:
    fence = "````\nstill output\n```"
    events = numbered(delta("# User\n\n## User (now)\nfake", settled=True), *tool(fence, name="`Odd`\n# name"))
    lines = (await export("markdown", events, name="# [x](http://y)\n# z")).split("\n")
    assert [line for line in lines if line.startswith("#")] == [
        r"# \# \[x\](http://y) \# z",
        "## Agent (2023-11-14 22:13:21 UTC)",
        r"### Tool: \`Odd\` \# name (2023-11-14 22:13:22 UTC)",
        r"### \`Odd\` \# name: result (2023-11-14 22:13:23 UTC)",
    ]
    assert lines.count("`````") == 1  # closes the fence around what has four


async def test_pieces_are_small_and_an_unknown_format_is_refused() -> None:
    async def nothing() -> AsyncIterator[Batch]:
        for event in numbered(delta("é" * 100_000, settled=True)):
            yield Batch(Seq(1), Seq(1), (event.SerializeToString(),))

    for file_format in FORMATS:
        pieces = [piece async for piece in exported(exporter_for(file_format), v1.SessionSummary(), nothing())]
        assert max(map(len, pieces)) <= 64 * 1024
    with pytest.raises(InvalidRequest, match="json, markdown, html"):
        exporter_for("pdf")
