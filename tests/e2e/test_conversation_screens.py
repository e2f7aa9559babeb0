"""Whole screens of a conversation at 40, 80 and 200 columns, compared with those under screens/."""

import json

import pytest

from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    Block,
    NoticeBlock,
    PromptBlock,
    PromptState,
    Tone,
    ToolCallBlock,
    ToolState,
    TruncatedField,
    TurnEnd,
    UserMessage,
)
from betcode.v1 import agent_pb2 as v1
from support.screens.conversation_view import conversation_of, open_view
from support.screens.golden import matches_golden

pytestmark = pytest.mark.anyio

_ANSWER = """## What is wrong

The parser in `src/parse.py` loses the **last line** when a file does not end with a newline, see
[the rules](https://example.org/rules?line=1).

1. read the file
2. split it
   - at `\\n`
   - never at *other* separators

> Be liberal in what you accept.

| case | before | after |
|------|--------|-------|
| with newline | works | works |
| without newline | the last line is lost, and nobody is told about it | works |

```python
def lines(text: str) -> list[str]:
    \"\"\"All of them, the last one too.\"\"\"
    return text.split("\\n")  # not splitlines
```

日本語のテキスト、👨‍👩‍👧 and e\u0301, שלום עולם, \x1b[31mnot red\x1b[0m \u202eturned\u202c.
"""


def _conversation() -> list[Block]:
    edit = {
        "file_path": "src/parse.py",
        "old_string": "    return text.splitlines()\n",
        "new_string": '    return text.split("\\n")\n',
    }
    found = ToolCallBlock(
        "t3", 7, name="Grep", input_summary="splitlines", output="src/parse.py:3", state=ToolState.DONE
    )
    return [
        UserMessage(
            "s1",
            1,
            text="The last line of a file is lost.\nPlease look at it.",
            attachments=("log.txt", "screen.png"),
            state=v1.MESSAGE_STATE_CONSUMED,
        ),
        AgentThinking(
            "h1", 2, pieces=["The user says that a line is lost. I should read the parser."], is_settled=True
        ),
        AgentText("w1", 3, pieces=[_ANSWER], is_settled=True),
        ToolCallBlock(
            "t1",
            4,
            name="Edit",
            input_summary="src/parse.py",
            input_json=json.dumps(edit),
            output="The file was changed.",
            state=ToolState.DONE,
            duration_ms=120,
        ),
        PromptBlock(
            "a1", 5, title="Bash make test", state=PromptState.ALLOWED, outcome="Allowed for this session: Bash(make:*)"
        ),
        ToolCallBlock(
            "t2",
            6,
            name="Bash",
            input_summary="make test",
            input_json='{"command": "make test | tail -40"}',
            output="\n".join(f"test {number} passed" for number in range(1, 41)),
            state=ToolState.FAILED,
            duration_ms=73_000,
            cuts=(TruncatedField("tool_call_result.output", 1_200_000, "0" * 64),),
        ),
        ToolCallBlock(
            "t4",
            8,
            name="Task",
            input_summary="find all callers",
            input_json='{"prompt": "find all callers"}',
            children=[found, AgentText("w2", 9, pieces=["There is **one** caller."])],
        ),
        NoticeBlock("n1", 10, lines=("The conversation was compacted: 12,000 tokens saved",)),
        NoticeBlock("n2", 11, lines=("error: the service is overloaded",), tone=Tone.BAD),
        TurnEnd("e1", 12, stop_reason="end_turn", summary="81.2 s, 12,000 tokens in, 900 out, $0.1200"),
        UserMessage("s2", 13, text="And then?", by="phone", state=v1.MESSAGE_STATE_ACCEPTED),
        UserMessage("s3", 14, text="Never mind.", state=v1.MESSAGE_STATE_CANCELLED, reason="taken back"),
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
async def test_a_conversation_folded_and_open(width: int) -> None:
    async with open_view(conversation_of(*_conversation()), (width, 80)) as shown:
        matches_golden(f"conversation-{width}", shown.text)
        await shown.pilot.press("o", "o")  # the second opens what the first has brought to light
        await shown.pilot.press("home")
        matches_golden(f"conversation-open-{width}", shown.text)
