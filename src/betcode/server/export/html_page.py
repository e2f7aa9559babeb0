"""Export the history as one self-contained HTML page: no scripts, no external resources, all content escaped."""

import html

from betcode.server.export.control_characters import made_visible
from betcode.server.export.entries import HistoryEntries, HistoryEntry, facts_of, title_of
from betcode.v1 import agent_pb2 as v1

# A second safeguard besides the escaping: nothing that slips through can be loaded or run.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; opacity: .8; }
dd { margin: 0; overflow-wrap: anywhere; }
section { margin: 1rem 0; padding: .25rem 1rem; border-left: .25rem solid #8888; unicode-bidi: isolate; }
section.user { border-color: #2a7de1; }
section.agent { border-color: #2e9e5b; }
section.note { opacity: .75; }
h2 { font-size: 1rem; margin: .25rem 0; }
h2 small { font-weight: normal; opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; font: inherit; }
.tool pre, .result pre { font: .85rem/1.4 ui-monospace, monospace; max-height: 30rem; overflow-y: auto; }
"""


class HtmlPage:
    """One section per entry."""

    def __init__(self) -> None:
        self._entries = HistoryEntries()

    def begin(self, session: v1.SessionSummary) -> str:
        title = _safe(title_of(session))
        facts = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in facts_of(session).items())
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>{facts}</dl>\n"
        )

    def add(self, event: v1.AgentEvent) -> str:
        return "".join(map(_section, self._entries.of(event)))

    def end(self) -> str:
        return "".join(map(_section, self._entries.rest())) + "</body>\n</html>\n"


def _section(entry: HistoryEntry) -> str:
    at = f" <small>{_safe(entry.at)}</small>" if entry.at else ""
    # Browsers drop the newline after <pre>; one that belongs to the text is preserved.
    return (
        f'<section class="{entry.kind.value}">\n<h2>{_safe(entry.heading)}{at}</h2>\n'
        f"<pre>\n{_safe(entry.text)}</pre>\n</section>\n"
    )


def _safe(text: str) -> str:
    return html.escape(made_visible(text), quote=True)
