"""The demo agent's tour: a small piece of pretended work in which everything that a screen can show happens once."""

from collections.abc import Mapping, Sequence
from typing import Any

from demo_recorder import Recorder

_FILE = "fibonacci.py"
_PLAN = ("Look at the code", "Mend the negative numbers", "Run the tests")

_BEGIN_THINKING = """\
A newcomer wants to see what this is like. I will pretend a small repair: read a file, let a helper look for \
its users, change two lines, run the tests. Nothing of it may really happen.
"""

_BEGIN = """\
## A tour in a minute

I am betcode's demo agent. I **pretend** a small repair here: nothing is read, run or changed on your machine. What \
you see is real, though: each word was on disk before it reached your screen.

This is a list of what I will do:
"""

_LOOK = "First I look at the code. A tool is one line; open it to see what went in and what came out.\n"

_SOURCE = '''\
     1\tdef fibonacci(n: int) -> int:
     2\t    """The n-th Fibonacci number."""
     3\t    a, b = 0, 1
     4\t    for _ in range(n):
     5\t        a, b = b, a + b
     6\t    return a
'''

_HELPER = "Who calls it? A **subagent** looks for that; its own steps stand below its call.\n"
_HELPER_INPUT: Mapping[str, Any] = {
    "description": "Find who calls fibonacci",
    "subagent_type": "explore",
    "prompt": "Who calls fibonacci(), and with what?",
}
_HELPER_STEPS: Sequence[tuple[str, str, Mapping[str, Any], str]] = (
    ("toolu_demo_tour_grep", "Grep", {"pattern": "fibonacci\\("}, "app.py:12: print(fibonacci(steps))\n"),
    ("toolu_demo_tour_app", "Read", {"file_path": "app.py"}, "    12\tprint(fibonacci(steps))\n"),
)
_HELPER_SAID = "One caller, app.py:12. Its `steps` may be negative.\n"

_ASKING = """\
With a negative number the loop never runs and the answer is 0, which is wrong. I would write:

```python
def fibonacci(n: int) -> int:
    \"\"\"The n-th Fibonacci number; negative ones have none.\"\"\"
    if n < 0:
        raise ValueError(f"there is no Fibonacci number {n}")
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
```

For that I need your **permission**. Answer the card: `y` allows, `n` denies, `?` tells the rest. It waits for you, \
in every terminal and for days if need be.
"""
_EDIT: Mapping[str, Any] = {
    "file_path": _FILE,
    "old_string": '    """The n-th Fibonacci number."""\n    a, b = 0, 1\n',
    "new_string": '    """The n-th Fibonacci number; negative ones have none."""\n'
    "    if n < 0:\n"
    '        raise ValueError(f"there is no Fibonacci number {n}")\n'
    "    a, b = 0, 1\n",
}
_EDITED = f"The file {_FILE} has been updated. (pretended by the demo agent: no file was changed)"
_NOT_EDITED = "The user denied permission."

_TESTING = "Thank you. A real agent would have changed the file just now. I pretend to run the tests:\n"
_TESTS: Mapping[str, Any] = {"command": "pytest -q test_fibonacci.py", "description": "Run the tests"}
_PASSED = """\
....                                                                     [100%]
4 passed in 0.02s
(pretended by the demo agent: nothing was run)
"""
_DENIED = "You said no, so not even the pretence was changed. A real agent is told why, and looks for another way.\n"

_CHOOSING = "Agents also ask **questions**. Here is one:\n"
_CHOICE: Mapping[str, Any] = {
    "questions": [
        {
            "question": "What would you like to try next?",
            "header": "Next",
            "options": [
                {"label": "A reconnect", "description": "Restart the daemon while I speak"},
                {"label": "A long answer", "description": "And stop it with Esc"},
                {"label": "A real agent", "description": "Claude Code, in a project of yours"},
            ],
            "multiSelect": False,
        }
    ]
}
_CHOSEN = "Your questions have been answered."
_END_CHOSEN = "Noted."
_END_UNCHOSEN = "No answer is an answer too."
_END = """\
 That was the tour. Each of these is worth a try:

| type | and see |
|---|---|
| `reconnect` | I count for half a minute; restart the daemon meanwhile, or close this terminal and come back |
| `something long` | stop me with Esc |
| `show me a tool` | a shell command that asks |

For real work, begin `betcode` in a project of yours with Claude Code installed (`claude` on your PATH).
"""


def tour(*, allowed: bool = True, chosen: bool = True) -> Recorder:
    """The tour, for each answer to its two questions."""
    tape = Recorder("tour")
    tape.asked("tour")
    tape.message(
        _BEGIN, thinking=_BEGIN_THINKING, then=lambda: tape.call("toolu_demo_tour_plan", "TodoWrite", _todos(0))
    )
    tape.took("toolu_demo_tour_plan", "Todos have been modified.")
    tape.message(_LOOK, then=lambda: tape.call("toolu_demo_tour_read", "Read", {"file_path": _FILE}))
    tape.took("toolu_demo_tour_read", _SOURCE)
    tape.message(_HELPER, then=lambda: tape.call("toolu_demo_tour_helper", "Agent", _HELPER_INPUT))
    tape.below("toolu_demo_tour_helper", _HELPER_STEPS)
    tape.took("toolu_demo_tour_helper", _HELPER_SAID)
    _next_todo(tape, 1)
    tape.message(_ASKING, then=lambda: tape.call("toolu_demo_tour_edit", "Edit", _EDIT))
    tape.permission("toolu_demo_tour_edit", "Edit", _EDIT, allowed=allowed)
    tape.took("toolu_demo_tour_edit", _EDITED if allowed else _NOT_EDITED, is_error=not allowed)
    if allowed:
        _next_todo(tape, 2)
        tape.message(_TESTING, then=lambda: tape.call("toolu_demo_tour_tests", "Bash", _TESTS))
        tape.took("toolu_demo_tour_tests", _PASSED, after_s=1.0)
        _next_todo(tape, 3)
    else:
        tape.message(_DENIED, then=lambda: tape.call("toolu_demo_tour_todo_none", "TodoWrite", {"todos": []}))
        tape.took("toolu_demo_tour_todo_none", "Todos have been modified.")
    tape.message(_CHOOSING, then=lambda: tape.call("toolu_demo_tour_ask", "AskUserQuestion", _CHOICE))
    tape.permission("toolu_demo_tour_ask", "AskUserQuestion", _CHOICE, allowed=chosen)
    tape.took("toolu_demo_tour_ask", _CHOSEN if chosen else _NOT_EDITED, is_error=not chosen)
    end = (_END_CHOSEN if chosen else _END_UNCHOSEN) + _END
    tape.message(end)
    tape.result(end)
    return tape


def _todos(done: int) -> Mapping[str, Any]:
    """The list, with so much of it done."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(_PLAN)
    return {"todos": [{"content": todo, "status": state} for todo, state in zip(_PLAN, states, strict=False)]}


def _next_todo(tape: Recorder, done: int) -> None:
    tape.message("", then=lambda: tape.call(f"toolu_demo_tour_todo_{done}", "TodoWrite", _todos(done)))
    tape.took(f"toolu_demo_tour_todo_{done}", "Todos have been modified.", after_s=0.05)
