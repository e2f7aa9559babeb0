"""Queries of the search index: events that contain the words, and the text around them."""

import re
from pathlib import Path
from typing import Any

import apsw

from betcode.domain.events.search_documents import Document, SearchHit, SearchPage, SearchQuery, document_of
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.storage.search.search_index import TOKENS, search_file
from betcode.storage.sessions.event_rowid import SEQ_MASK, first_place, last_place, seq_of
from betcode.storage.sqlite.database import connect_reader
from betcode.v1.agent_pb2 import AgentEvent

COUNTED_TO = 10_000
_EXCERPT_WORDS = 24
_EXCERPT_CHARACTERS = 400
_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_EVERYWHERE = (0, 2**63 - 1)

# The index first, then what the log has for its hits: newest place first needs no sorting.
_MATCHES = """
FROM search.documents d CROSS JOIN sessions s ON s.key = d.rowid >> 40 AND s.deleted = 0
WHERE d.documents MATCH ? AND d.rowid BETWEEN ? AND ?
"""
# What a fork has copied is found in the session it came from, for as long as that is there.
_NO_COPIES = f"""
AND NOT ((d.rowid & {SEQ_MASK}) <= s.forked_at
    AND EXISTS (SELECT 1 FROM sessions o WHERE o.session_id = s.forked_from AND o.deleted = 0))
"""
_HITS = """
SELECT h.place, e.data, h.session_id, h.name FROM (
    SELECT d.rowid AS place, s.session_id, s.name {matches} ORDER BY d.rowid DESC LIMIT ? OFFSET ?) h
CROSS JOIN events e ON e.place = h.place ORDER BY h.place DESC
"""
_COUNT = "SELECT count(*) FROM (SELECT 1 {matches} LIMIT {most})"


def match_of(query: str) -> str:
    """The question in the index's own words: all terms must occur, and nothing that is typed is syntax but "" and *."""
    terms = []
    for phrase, word in _TERM.findall(query.replace("\0", " ")):
        text, begins = (word.rstrip("*"), word.endswith("*")) if word else (phrase, False)
        if any(letter.isalnum() for letter in text):
            terms.append(f'"{text}"' + ("*" if begins else ""))
    return " ".join(terms)


def find(log: Path, question: SearchQuery) -> SearchPage:
    """One page of hits.

    Raises:
        apsw.CorruptError, apsw.NotADBError: the index is damaged.
    """
    match = match_of(question.query)
    index = search_file(log)
    if not match or not index.exists():
        return SearchPage(complete=not match)
    db = connect_reader(log)
    try:
        db.execute("ATTACH ? AS search", (str(index),))
        if not db.execute("SELECT count(*) FROM search.sqlite_schema WHERE name = 'documents'").get:
            return SearchPage(complete=False)
        places = _places(db, question.session)
        if places is None:
            return SearchPage()
        matches = _MATCHES if question.session else _MATCHES + _NO_COPIES
        rows: list[Any] = db.execute(
            _HITS.format(matches=matches), (match, *places, question.limit, question.offset)
        ).fetchall()
        total = int(db.execute(_COUNT.format(matches=matches, most=COUNTED_TO), (match, *places)).get)
    finally:
        db.close()
    found = [(place, AgentEvent.FromString(data), session, name) for place, data, session, name in rows]
    documents = {place: document for place, event, *_ in found if (document := document_of(event))}
    excerpts = _excerpts(match, documents)
    hits = tuple(
        SearchHit(
            session=SessionId(session),
            session_name=name,
            seq=Seq(seq_of(place)),
            at_ns=event.timestamp.ToNanoseconds(),
            speaker=documents[place].speaker,
            excerpt=excerpts.get(place) or documents[place].text[:_EXCERPT_CHARACTERS],
        )
        for place, event, session, name in found
        if place in documents
    )
    return SearchPage(hits, total)


def _places(db: apsw.Connection, session: SessionId | None) -> tuple[int, int] | None:
    """The scope of the search; None if there is no such session."""
    if session is None:
        return _EVERYWHERE
    key = db.execute("SELECT key FROM sessions WHERE session_id = ? AND deleted = 0", (session,)).get
    return None if key is None else (first_place(key), last_place(key))


def _excerpts(match: str, documents: dict[int, Document]) -> dict[int, str]:
    """The text around the matches, found by the index's own rules: the few documents of a page are indexed again."""
    if not documents:
        return {}
    db = apsw.Connection(":memory:")
    try:
        db.execute(f"CREATE VIRTUAL TABLE page USING fts5(text, tokenize='{TOKENS}')")
        with db:
            texts = ((place, document.text) for place, document in documents.items())
            db.executemany("INSERT INTO page (rowid, text) VALUES (?, ?)", texts)
        around = f"SELECT rowid, snippet(page, 0, '', '', '…', {_EXCERPT_WORDS}) FROM page WHERE page MATCH ?"
        return {place: _one_line(text) for place, text in db.execute(around, (match,))}
    finally:
        db.close()


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_EXCERPT_CHARACTERS]
