"""What a real bash runs, beside what the rules think it would run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from betcode.rules.syntax.commands import CommandKind, Script
from betcode.rules.syntax.shell import taken_apart
from support.plugins.requirements import needs

BASH = shutil.which("bash")
pytestmark = needs("bash", "" if BASH else "there is no bash here")

# Every program is missing, so that bash hands its words to this function instead of starting it.
RECORD = '() { local IFS=$\'\\x1f\'; printf "%s\\x1f\\x1e" "$*" >>"$LOG"; return 0; }'
PIECES = (
    *(
        "aa",
        "bb",
        "cc",
        "-f",
        "1",
        "2",
        "x=1",
        "é",
        "%",
        "^",
        "~",
        "*",
        "?",
        "=",
        "a#b",
        "$x",
        "${x}",
        '"$@"',
        "{a,b}",
        "{}",
    ),
    *(" ", " ", " ", " ", "\n", "\t", " #", "\\", "\\\n", " \\", '"', "'", "$'", "'\\''"),
    *(";", "&", "&&", "||", "|", "(", ")", "{", "}", "!", "$(", "`", '"$(', ')"', "<(", ">("),
    *(">", "<", "<<<", "&>", "2>&1", ">&", "<<E\n", "E\n", "\nE\n"),
    *("if ", "then ", "fi", "for i in ", "do ", "done", "case a in ", "esac", "a) ", ";;", "function g ", "g() "),
    *(
        "{x}>o",
        "0<<<E",
        "x=(a b)",
        "x+=1",
        "$((1+1))",
        "${x:-aa}",
        "<<-E\n",
        "<<\\E\n",
        "coproc ",
        "2>",
        "\\;",
        "[",
        "]",
    ),
    *("[[ ", "[ ", " ]", " ]]", "==", "time ", "eval ", "bash -c ", "command ", "env ", "timeout 5 "),
)
# Where the grammar once saw another command than bash, or none.
MISREAD = (
    "aa {x}>o",
    "aa 0<<<E",
    "aa <<< ]\\`",
    ">& --",
    "aa >& -f",
    "[-o ]",
    "[aa]",
    "x=(a b)#c aa",
    "x=1 -<<\\E\n\nE\n",
    "aa - <<E\nbb\nE\n",
    "aa - - <<E\nbb\nE\n",
    "aa bb - <<E | cc - \nbb\nE\n",
    "aa\\\n#bb",
    "time x+=1 aa",
    "time x'=1'",
    "time x=1 -p aa",
    "time -p \\--",
    "time '-p' aa",
    "time -p aaé=1 bb",
)
SCRAPS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
WORDS = st.lists(
    st.sampled_from(["aa", "bb", "'c d'", '"e"f', "g\\ h", "$'i'", "-j", "k=l", "{}"]), min_size=1, max_size=4
)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}{}{}".format, inner, st.sampled_from([";", "&&", " || ", "|", "&", "\n", " #\n", "\\\n;"]), inner),
        st.tuples(st.sampled_from(HOLDERS), inner).map(lambda pair: pair[0].replace("@", pair[1])),
    )


HOLDERS = (
    "(@)",
    "{ @; }",
    "! @",
    "aa $(@)",
    'aa "$(@)"b',
    "aa <(@)",
    "if @; then @; fi",
    "for i in 1 2; do @; done",
    "x=1 @",
    "@ >o",
    "@ 2>&1",
)
TEXTS = SCRAPS | st.recursive(WORDS.map(" ".join), nested, max_leaves=4)


def ran(text: str, root: Path) -> tuple[list[tuple[str, ...]], set[str]]:
    """The words of every program that bash would have started, and the files that it made."""
    assert BASH is not None
    log = root / "log"
    log.write_text("")
    work = root / "work"
    work.mkdir()
    environment = {
        "PATH": "/nonexistent",
        "FUNCNEST": "5",
        "LOG": str(log),
        "BASH_FUNC_command_not_found_handle%%": RECORD,
    }
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", text],
        env=environment,
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    found = os.fsdecode(log.read_bytes()).split("\x1e")[:-1]
    return [tuple(line.split("\x1f")[:-1]) for line in found], {path.name for path in work.iterdir()}


@settings(
    max_examples=int(os.environ.get("BETCODE_SOAK", "0")) * 5000 or 150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(text=TEXTS)
def test_bash_starts_and_writes_nothing_that_was_not_seen(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    agree(text, tmp_path_factory.mktemp("bash"))


@pytest.mark.parametrize("text", MISREAD)
def test_what_was_misread_once_is_read_as_bash_does_or_not_at_all(text: str, tmp_path: Path) -> None:
    agree(text, tmp_path)


def agree(text: str, root: Path) -> None:
    """What is understood of a text is what bash makes of it."""
    script = taken_apart(text)
    if not isinstance(script, Script):
        return
    parts = list(script.all())
    if any(part.kind is CommandKind.OPAQUE or part.command.name is None for part in parts):
        return  # nothing but an exact rule would allow it
    started, made = ran(text, root)
    seen = {tuple(word.value for word in part.command.words) for part in parts}
    names = {part.command.name for part in parts}
    settled = all(word.value is not None for part in parts for word in part.command.words)
    for words in started:
        assert (words in seen) if settled else (words[0] in names), (text, words)
    targets = {word.value for word in script.writes}
    assert None in targets or made <= targets, (text, made)
