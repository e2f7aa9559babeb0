"""Parses a shell command with a grammar: every command and every redirected file in it.

The grammar is not the shell, so its result is verified: each node must have a known type, only blanks may be between
nodes, and `words` parses every word again. If anything remains, the whole command is unclear.
"""

import re
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from betcode.rules.programs.wrappers import RESERVED, unwrapped
from betcode.rules.syntax.commands import Assignment, CommandNode, Script, SimpleCommand, Unclear, Word, literal, names
from betcode.rules.syntax.grammar_gaps import BLANK, BLANK_LINES, confirm_comment, confirm_gaps
from betcode.rules.syntax.heredocs import expands
from betcode.rules.syntax.variables import is_own_variable
from betcode.rules.syntax.words import WORDS, NotUnderstood, hidden_character, in_heredoc, substitutions, text_of, word

LENGTH_CHARACTERS = 10_000
DEPTH = 100  # of nodes in nodes
_LANGUAGE = Language(tree_sitter_bash.language())
_here = threading.local()  # a parser serves one thread

_LISTS: Final = names(
    "program list pipeline subshell compound_statement negated_command if_statement elif_clause "
    "else_clause while_statement do_group case_item command_substitution process_substitution"
)
_TOKENS: Final = names(
    "; & && || | |& ( ) { } ! if then elif else fi while until do done $( ` <( >( ;; ;& ;;& case esac in "
    "for select function"
)
_TESTS: Final = frozenset({"-f", "-d", "-e", "-s", "-r", "-w", "-x", "-n", "-z", "-L", "-h", "-b", "-c", "-p", "-S"})
_TEST_TOKENS: Final = frozenset({"[", "]", "[[", "]]", "==", "=", "!=", "&&", "||", "!", "(", ")"})
_PATTERN = re.compile(r"[\w.*?/,:@%+~ -]+|\[[\w-]+\]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOVES: Final = frozenset({"cd", "pushd", "popd", "chdir"})
_MOVES_AT_MOST = 8
_DEVICES: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@lru_cache(maxsize=256)
def taken_apart(text: str) -> Script | Unclear:
    """Return everything that `text` would run, or why that is unknown; never raises."""
    if len(text) > LENGTH_CHARACTERS:
        return Unclear(f"it is longer than {LENGTH_CHARACTERS} characters")
    hidden = hidden_character(text)
    if hidden is not None:
        return Unclear(f"it contains {hidden}, which hides part of the text")
    try:
        return _Reader(text).script()
    except NotUnderstood as reason:
        return Unclear(f"{reason} in it could not be parsed")
    except (RecursionError, UnicodeError):
        return Unclear("it could not be parsed")


def _parser() -> Parser:
    if not hasattr(_here, "parser"):
        _here.parser = Parser(_LANGUAGE)
    parser: Parser = _here.parser
    return parser


class _Reader:
    def __init__(self, text: str, depth: int = 0) -> None:
        self._source = text.encode()
        self._depth = depth
        self._parts: list[CommandNode] = []
        self._assignments: list[Assignment] = []
        self._writes: list[Word] = []
        self._reads: list[Word] = []
        self._texts: list[str] = []
        self._dashes: set[int] = set()  # ends of commands whose last word is a dash
        self._moves = 0
        self._readers: Mapping[str, Callable[[Node, int], None]] = {
            **dict.fromkeys(_LISTS, self._list),
            **dict.fromkeys(("command", "declaration_command", "unset_command"), self._command),
            **dict.fromkeys(("case_statement", "case_item"), self._case),
            "variable_assignment": self._alone,
            "variable_assignments": self._alone,
            "redirected_statement": self._redirected,
            "function_definition": self._function,
            "for_statement": self._loop,
            "test_command": self._tested,
            "file_redirect": self._redirect,  # $(<file)
            "comment": self._comment,
        }

    def script(self) -> Script:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            raise NotUnderstood("something")
        outside = self._source[: root.start_byte] + b" " + self._source[root.end_byte :]
        if not BLANK_LINES.fullmatch(outside.decode()):
            raise NotUnderstood("something")
        self._statement(root, self._depth)
        return Script(
            tuple(self._parts),
            tuple(self._assignments),
            tuple(self._writes),
            tuple(self._reads),
            self._moves > 0,
            tuple(self._texts),
        )

    def _between(self, node: Node, allowed: re.Pattern[str]) -> None:
        confirm_gaps(self._source, node, allowed)

    def _statement(self, node: Node, depth: int) -> None:
        if depth > DEPTH:
            raise NotUnderstood("such deep nesting")
        read = self._readers.get(node.type)
        if read is None:
            raise NotUnderstood(node.type.replace("_", " "))
        read(node, depth)

    def _list(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        if node.type == "negated_command" and text_of(node)[1:2] not in (" ", "\t"):
            raise NotUnderstood("!(")  # a pattern, where those are on
        if node.type == "compound_statement" and text_of(node)[1:2] not in (" ", "\t", "\n"):
            raise NotUnderstood("a brace")  # {} and {a are words
        parted, at = True, node.start_byte
        for child in node.children:
            parted = parted or b"\n" in self._source[at : child.start_byte]
            at = child.end_byte
            if child.type in _TOKENS and not child.is_named:
                parted = True
            elif child.type == "comment":
                self._comment(child, depth)
            elif parted:
                self._statement(child, depth + 1)
                parted = child.type in ("do_group", "else_clause", "elif_clause")
            elif child.type in ("do_group", "else_clause", "elif_clause"):
                self._statement(child, depth + 1)
            else:
                raise NotUnderstood("two commands in a row")

    def _comment(self, node: Node, _: int) -> None:
        confirm_comment(self._source, node)

    def _word(self, node: Node, depth: int) -> Word:
        if node.type not in WORDS:
            raise NotUnderstood(node.type.replace("_", " "))
        found = word(node)
        for inside in substitutions(node):
            self._statement(inside, depth + 1)
        return found

    def _command(self, node: Node, depth: int) -> None:
        self._between(node, BLANK)
        words: list[Word] = []
        assignments: list[Assignment] = []
        for child in node.children:
            match child.type:
                case "command_name":
                    self._between(child, BLANK)
                    if child.child_count != 1:
                        raise NotUnderstood("a command's name")
                    words.append(self._word(child.children[0], depth))
                case "variable_assignment" if not words:
                    assignments.append(self._assignment(child, depth))
                case "variable_assignment":  # export NAME=value
                    assigned = self._assignment(child, depth)
                    words.append(literal(assigned.written) if assigned.known else Word(assigned.written, None, False))
                case "file_redirect" | "herestring_redirect":
                    self._redirect(child, depth)
                case name if not words and not child.is_named:  # export, declare, unset
                    words.append(literal(name))
                case _:
                    words.append(self._word(child, depth))
        if not words:
            raise NotUnderstood("a command without a name")
        if node.end_byte in self._dashes:
            words.append(literal("-"))
        self._add(SimpleCommand(tuple(words), tuple(assignments)), depth)

    def _add(self, command: SimpleCommand, depth: int) -> None:
        if command.words[0].written in RESERVED or command.name == "":
            raise NotUnderstood("a reserved word")
        part = unwrapped(command, lambda text: self._inside(text, depth))
        self._moves += any(inner.command.name in _MOVES for inner in part.all())
        if self._moves > _MOVES_AT_MOST:
            raise NotUnderstood("so many changes of directory")
        self._parts.append(part)

    def _inside(self, text: str, depth: int) -> tuple[CommandNode, ...] | None:
        """Return the commands of a script that is an argument of a command; None if unknown."""
        if depth > DEPTH or hidden_character(text) is not None:
            return None
        try:
            script = _Reader(text, depth + 10).script()
        except NotUnderstood:
            return None
        self._assignments += script.assignments
        self._writes += script.writes
        self._reads += script.reads
        self._moves += script.moves
        self._texts += script.texts
        return script.parts

    def _assignment(self, node: Node, depth: int) -> Assignment:
        text = text_of(node)
        name, *rest = node.children
        if (
            name.type != "variable_name"
            or not _NAME.fullmatch(text_of(name))
            or not rest
            or rest[0].type not in ("=", "+=")
            or len(rest) > 2
        ):
            raise NotUnderstood("an assignment")
        if sum(child.end_byte - child.start_byte for child in node.children) != node.end_byte - node.start_byte:
            raise NotUnderstood("an assignment")
        known = True
        if len(rest) == 2 and rest[1].type == "array":
            self._array(rest[1], depth)
            known = False
        elif len(rest) == 2:
            known = self._word(rest[1], depth).value is not None
        return Assignment(text_of(name), text, known)

    def _array(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        for child in node.children[1:-1]:
            self._word(child, depth)

    def _alone(self, node: Node, depth: int) -> None:
        if node.type == "variable_assignments":
            self._between(node, BLANK)
        for child in [node] if node.type == "variable_assignment" else node.children:
            self._assignments.append(self._assignment(child, depth))

    def _redirected(self, node: Node, depth: int) -> None:
        confirm_gaps(self._without_dash(node), node, BLANK_LINES)
        for child in node.children:
            match child.type:
                case "file_redirect" | "herestring_redirect":
                    self._redirect(child, depth)
                case "heredoc_redirect":
                    self._heredoc(child, depth)
                case _:
                    self._statement(child, depth + 1)

    def _without_dash(self, node: Node) -> bytes:
        """Return the source without the word that the grammar loses in `python - <<EOF`; that word belongs to the
        command.
        """
        before, *rest = node.children
        if before.type == "command" and rest and rest[0].type == "heredoc_redirect":
            gap = self._source[before.end_byte : rest[0].start_byte]
            if re.fullmatch(rb"[ \t]+-[ \t]+", gap):
                self._dashes.add(before.end_byte)
                at = before.end_byte + gap.index(b"-")
                return self._source[:at] + b" " + self._source[at + 1 :]
        return self._source

    def _redirect(self, node: Node, depth: int) -> None:
        self._between(node, BLANK)
        children = [child for child in node.children if not self._is_descriptor(child)]
        operator, *targets = children
        if operator.type in ("<&-", ">&-") and not targets:
            return
        if len(targets) != 1:
            raise NotUnderstood("a redirection")
        target = self._word(targets[0], depth)
        value = target.value or ""
        if target.written.startswith("!"):
            raise NotUnderstood("a redirection")  # zsh takes the next word
        match operator.type:
            case "<<<":
                self._texts.append(target.written if target.value is None else target.value)
            case ">&" | "<&" if re.fullmatch(r"[0-9]+-?|-", value):
                return
            case "<":
                self._reads += [target] if value not in _DEVICES else []
            case ">&" | "<&" if not re.fullmatch(r"[\w./][\w./-]*", target.written):
                raise NotUnderstood("a redirection")
            case ">" | ">>" | ">|" | "&>" | "&>>" | ">&":
                self._writes += [target] if value not in _DEVICES else []
            case _:
                raise NotUnderstood("a redirection")

    def _is_descriptor(self, node: Node) -> bool:
        if node.type == "file_descriptor" and not re.fullmatch(r"[0-9]", text_of(node)):
            raise NotUnderstood("a redirection")
        return node.type == "file_descriptor"

    def _heredoc(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        found: dict[str, Node] = {}
        for child in node.children:
            if child.type in ("heredoc_start", "heredoc_body", "heredoc_end"):
                found[child.type] = child
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, depth)
            elif child.type in WORDS:
                raise NotUnderstood("a here-document")
            elif child.is_named and not self._is_descriptor(child):
                self._statement(child, depth + 1)
        start, body, end = (found.get(f"heredoc_{name}") for name in ("start", "body", "end"))
        if start is None or end is None:
            raise NotUnderstood("a here-document")
        self._texts.append("" if body is None else text_of(body))
        tabs = any(child.type == "<<-" for child in node.children)
        if expands(self._source, start, end, tabs=tabs) and body is not None:
            in_heredoc(body)
            for child in body.children:
                for inside in substitutions(child):
                    self._statement(inside, depth + 1)

    def _function(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        for child in node.children:
            if child.type == "word" and re.fullmatch(r"[\w-]+", text_of(child)):
                continue
            if child.type not in ("function", "(", ")"):
                self._statement(child, depth + 1)

    def _loop(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        for child in node.children:
            if child.type == "variable_name":
                if not is_own_variable(text_of(child)):
                    raise NotUnderstood("a loop over a variable that programs read")
            elif child.type in WORDS:
                self._word(child, depth)
            elif child.is_named:
                self._statement(child, depth + 1)
            elif child.type not in _TOKENS:
                raise NotUnderstood("a loop")

    def _case(self, node: Node, depth: int) -> None:
        self._between(node, BLANK_LINES)
        patterns = node.type == "case_item"
        parted = False
        for child in node.children:
            if not child.is_named:
                patterns = patterns and child.type != ")"
                parted = True
                if child.type not in _TOKENS:
                    raise NotUnderstood("a case")
            elif patterns and child.type in ("extglob_pattern", "regex"):
                if not _PATTERN.fullmatch(text_of(child)):
                    raise NotUnderstood("a pattern")
            elif child.type in WORDS:
                self._word(child, depth)
            else:
                if not parted and child.type != "case_item" and b"\n" not in self._before(child):
                    raise NotUnderstood("two commands in a row")
                self._statement(child, depth + 1)
                parted = False

    def _before(self, node: Node) -> bytes:
        previous = node.prev_sibling
        return self._source[previous.end_byte if previous else node.start_byte : node.start_byte]

    def _tested(self, node: Node, depth: int) -> None:
        text = text_of(node)
        if not re.match(r"\[\[?\s", text):
            raise NotUnderstood("a test")  # a program's name begins so
        self._test(node, depth, splits=not text.startswith("[["))

    def _test(self, node: Node, depth: int, *, splits: bool) -> None:
        """Check that [ … ] and [[ … ]] only compare text or test files, because then they run nothing."""
        if depth > DEPTH:
            raise NotUnderstood("such deep nesting")
        self._between(node, BLANK)
        for child in node.children:
            match child.type:
                case "unary_expression" | "binary_expression" | "parenthesized_expression":
                    self._test(child, depth + 1, splits=splits)
                case "test_operator" if text_of(child) in _TESTS:
                    pass
                case "extglob_pattern" if _PATTERN.fullmatch(text_of(child)):
                    pass
                case kind if kind in _TEST_TOKENS and not child.is_named:
                    pass
                case _:
                    found = self._word(child, depth)
                    if splits and not found.single:
                        raise NotUnderstood("a test")  # the words it expands to may be operators
