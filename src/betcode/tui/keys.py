"""The table of all keys: what each does, where it applies, and its help text."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from textual.binding import Binding, BindingType


class KeyContext(Enum):
    """The context of a key; the value is its heading in the help."""

    APP = "Everywhere"
    SESSION = "In a session"
    WRITING = "In the input"
    READING = "In the conversation"
    CARDS = "On a card"
    SESSIONS = "In the list of sessions"
    INBOX = "In the inbox"


@dataclass(frozen=True, slots=True)
class Key:
    """Keys with the same effect are separated by commas. Without an action, the widget handles the key itself."""

    keys: str
    words: str
    action: str = ""
    has_priority: bool = False  # before the focused widget
    shown: str = ""  # the label, if the names of the keys would say less


KEYS: dict[KeyContext, tuple[Key, ...]] = {
    KeyContext.APP: (
        Key("f1", "this help; also ? on an empty draft", "help", has_priority=True),
        Key("ctrl+q", "quit; agents keep running", "leave", has_priority=True),
        Key("ctrl+z", "suspend; fg resumes", "suspend_process", has_priority=True),
        Key("f2", "next theme", "next_theme", has_priority=True),
    ),
    KeyContext.SESSION: (
        Key("escape", "interrupt the turn; press again to force", "cancel"),
        Key("ctrl+s", "list of sessions", "app.sessions", has_priority=True),
        Key("ctrl+o", "inbox: all prompts that wait for you", "app.inbox", has_priority=True),
        Key("ctrl+f", "search in all sessions", "app.search", has_priority=True),
        Key("ctrl+n", "new session here", "app.new_session", has_priority=True),
        Key("ctrl+x", "menu of this session", "app.menu", has_priority=True),
        Key("ctrl+t", "todos and plan", "panels", has_priority=True),
        Key("ctrl+l", "take over typing from another terminal", "lock", has_priority=True),
        Key(
            ",".join(f"alt+{number}" for number in range(1, 10)),
            "session with that number",
            "app.numbered",
            has_priority=True,
            shown="Alt+1…9",
        ),
        Key("alt+left", "previous session", "app.beside(-1)", has_priority=True),
        Key("alt+right", "next session", "app.beside(1)", has_priority=True),
        Key("tab", "switch the focus: input, card, conversation", "next_focus"),
        Key("ctrl+c", "copy the selection, or clear the draft; twice quits", "interrupt", has_priority=True),
        Key("ctrl+d", "quit, on an empty draft", "leave_empty", has_priority=True),
        # Without priority: the keys before this one decide whether the draft is empty.
        Key("question_mark", "help, on an empty draft", "help_empty"),
    ),
    KeyContext.WRITING: (
        Key("enter", "send"),
        Key("ctrl+j,shift+enter,alt+enter", "new line"),
        Key("backslash", "new line, if you press Enter next", shown="\\"),
        Key("up,down", "history, on the first and last line; ↑ edits queued messages first"),
        Key("ctrl+r", "search earlier messages"),
        Key("@", "complete a file name"),
        Key("/", "complete a command; // for betcode's own, if the agent has it too"),
        Key("ctrl+v", "attach the image in the clipboard"),
        Key("alt+p", "expand the pasted text"),
        Key("backspace", "at the start of the draft: remove the last attachment"),
        Key("ctrl+e", "write in your editor (VISUAL, EDITOR)"),
        Key("alt+z", "undo"),
        Key("pageup,pagedown", "scroll the conversation"),
        Key("ctrl+home,ctrl+end", "go to its beginning or end"),
    ),
    KeyContext.READING: (
        Key("up,down", "select a block"),
        Key("enter,space", "expand or collapse it"),
        Key("o", "expand or collapse all"),
        Key("y,ctrl+y", "copy it"),
        Key("v", "show it in full"),
        Key("pageup,pagedown", "scroll"),
        Key("home,end", "go to the beginning or end"),
        Key("escape", "back to the input, if no turn is running; other letters do the same"),
    ),
    KeyContext.CARDS: (
        Key("y", "allow once"),
        Key("a", "allow always; 1-9 selects a pattern"),
        Key("n", "deny"),
        Key("d", "deny with a reason"),
        Key("s", "deny and stop the turn"),
        Key("e", "edit, then allow"),
        Key("v", "show the whole input"),
        Key("1…9,space", "choose an answer"),
        Key("t", "type an answer or a pattern"),
        Key("left,right", "previous or next card"),
        Key("escape", "back to the draft"),
    ),
    KeyContext.SESSIONS: (
        Key("escape", "back", "close_list"),
        Key("tab", "switch to the list, for the keys below"),
        Key("n", "new session here", "new"),
        Key("r", "rename", "session_action('rename')"),
        Key("f", "fork", "session_action('fork')"),
        Key("x", "export to a file", "session_action('export')"),
        Key("c", "close", "session_action('close')"),
        Key("d", "delete", "session_action('delete')"),
    ),
    KeyContext.INBOX: (
        Key("enter", "go to the session"),
        Key("tab", "switch between list and card; card keys work in both"),
        Key("escape", "back"),
    ),
}

# Commands that can be typed instead of a message, and their actions.
COMMANDS = {
    "help": "app.help",
    "sessions": "app.sessions",
    "inbox": "app.inbox",
    "new": "app.new_session",
    "theme": "app.next_theme",
    "quit": "app.leave",
    "cancel": "screen.cancel",
    "lock": "screen.lock",
}


def bindings(context: KeyContext) -> list[BindingType]:
    """Return the Textual bindings of a context."""
    return [
        Binding(
            each,
            f"{key.action}({each[-1]})" if key.action == "app.numbered" else key.action,
            key.words,
            priority=key.has_priority,
        )
        for key in KEYS[context]
        if key.action
        for each in key.keys.split(",")
    ]


_NAMES = {
    "escape": "Esc",
    "question_mark": "?",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def shown(key: Key) -> str:
    """Return the keys as they are labelled on a keyboard."""
    return key.shown or " ".join(_shown(each) for each in key.keys.split(","))


def _shown(name: str) -> str:
    parts = [_NAMES.get(part, part) for part in name.split("+")] if name != "+" else [name]
    return "+".join(part[:1].upper() + part[1:] if len(parts) > 1 or len(part) > 1 else part for part in parts)


def table() -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    """Return the headings for the help and docs/screen.md, each with its keys and descriptions."""
    return [(context.value, [(shown(key), key.words) for key in keys]) for context, keys in KEYS.items() if keys]
