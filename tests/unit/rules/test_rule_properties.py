"""What holds for every command, path and set of rules."""

import string

from hypothesis import example, given
from hypothesis import strategies as st

from betcode.rules import Action, Layer, Rule, RuleProblem, Rules, ScreenOutcome, Source, ToolUse, parse_rule, screen
from betcode.rules.syntax.commands import CommandKind, Script
from betcode.rules.syntax.shell import taken_apart
from support.rules.rules import PLACE, bash, rules, screened

ORDER = {ScreenOutcome.ALLOW: 0, ScreenOutcome.ASK: 1, ScreenOutcome.DENY: 2}
NAMES = st.sampled_from(["git", "npm", "ls", "rm", "curl", "cat", "sudo", "bash", "cd", "grep -r", "tee", "python3 -c"])
PLAIN = st.text(alphabet=string.ascii_lowercase + "-./=", min_size=1, max_size=6)
ARGUMENTS = (
    PLAIN
    | st.sampled_from(["'a b'", '"c; d"', "$x", '"$y"', "*.py", "-rf", "status", "$'a'", "{}", "a\\ b"])
    | st.sampled_from([".", "..", "~", "/", ".env", ".git/x", "-C", "/proc/self/cwd", "https://a.x.y/", "file:///x"])
)
SIMPLE = st.builds(lambda name, rest: " ".join([name, *rest]), NAMES, st.lists(ARGUMENTS, max_size=3))


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Commands in everything that holds commands."""
    return st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from([";", "&&", "||", "|", "|&", "&", "\n"]), inner),
        st.builds("({})".format, inner),
        st.builds("{{ {}; }}".format, inner),
        st.builds('echo "$({})"'.format, inner),
        st.builds("cat <({})".format, inner),
        st.builds("if {}; then {}; fi".format, inner, inner),
        st.builds("for i in a b; do {}; done".format, inner),
        st.builds("while {}; do {}; done".format, inner, inner),
        st.builds("f() {{ {}; }}".format, inner),
        st.builds("timeout 5 {}".format, SIMPLE),
        st.builds("FOO=bar {}".format, SIMPLE),
        st.builds("{} > out".format, SIMPLE),
        st.builds("cat <<EOF\n$({})\nEOF".format, inner),
    )


COMMANDS = st.recursive(SIMPLE, nested, max_leaves=5)
ANYTHING = COMMANDS | st.text(max_size=60) | st.text(alphabet=" \n;&|()`$\"'\\<>{}[]#*!=~ab", max_size=30)
COMMAND_RULES = st.builds(
    "Bash({})".format,
    st.sampled_from(
        ["git *", "git status", "rm *", "ls *", "npm:*", "* -rf *", "cat*", "echo *", "sudo *", "bash *", "timeout *"]
    ),
)
RULES = COMMAND_RULES | st.sampled_from(
    [
        *("Bash", "Edit(out)", "Edit(**)", "Read(//etc/**)", "Read", "mcp__a", "WebFetch(domain:*.x.y)", "Read(.env)"),
        *("Read(~/.ssh/**)", "Bash(tee .git/*)", "Bash(tee *)", "Bash(cd *)", "Bash(git -C .. *)", "Bash(cd ..)"),
    ]
)


def made(allow: list[str], ask: list[str], deny: list[str]) -> Rules:
    return rules(allow=allow, ask=ask, deny=deny)


LISTS = st.lists(RULES, max_size=4)


@given(ANYTHING, LISTS, LISTS, LISTS, RULES)
def test_a_further_deny_never_widens(
    command: str, allow: list[str], ask: list[str], deny: list[str], more: str
) -> None:
    before = screened(command, made(allow, ask, deny)).outcome
    assert ORDER[screened(command, made(allow, ask, [*deny, more])).outcome] >= ORDER[before]
    assert ORDER[screened(command, made(allow, [*ask, more], deny)).outcome] >= ORDER[before]


@given(ANYTHING, LISTS, LISTS, LISTS, RULES)
def test_a_further_allow_never_narrows(
    command: str, allow: list[str], ask: list[str], deny: list[str], more: str
) -> None:
    before = screened(command, made(allow, ask, deny)).outcome
    assert ORDER[screened(command, made([*allow, more], ask, deny)).outcome] <= ORDER[before]
    assert ORDER[screened(command, made([more, *allow], ask, deny)).outcome] <= ORDER[before]


@given(COMMANDS, st.lists(COMMAND_RULES, max_size=5))
def test_what_is_allowed_is_the_union_of_its_parts(command: str, allow: list[str]) -> None:
    by = made([*allow, "Edit(out)"], [], [])
    if screened(command, by).outcome is not ScreenOutcome.ALLOW:
        return
    script = taken_apart(command)
    assert isinstance(script, Script)
    for part in script.all():
        if part.kind is CommandKind.PLAIN:
            text = part.command.prefix + part.command.written
            assert screened(text, by).outcome is ScreenOutcome.ALLOW, text


@given(st.lists(SIMPLE, min_size=1, max_size=4), COMMAND_RULES)
def test_a_list_is_allowed_exactly_if_each_of_it_is(commands: list[str], rule: str) -> None:
    by = made([rule], [], [])
    each = [screened(command, by).outcome for command in commands]
    for joint in ("; ", " && ", " | ", "\n", " & "):
        together = screened(joint.join(commands), by).outcome
        assert (together is ScreenOutcome.ALLOW) is all(outcome is ScreenOutcome.ALLOW for outcome in each)


@given(COMMANDS, SIMPLE.map(lambda text: "rm " + text))
def test_a_denied_command_is_found_wherever_it_stands(around: str, denied: str) -> None:
    by = made(["Bash"], [], ["Bash(rm *)"])
    for text in (
        f"{around}; {denied}",
        f"({denied}) && {around}",
        f'echo "$({denied})"; {around}',
        f"f() {{ {denied}; }}",
    ):
        assert screened(text, by).outcome is ScreenOutcome.DENY, text


def quoted(draw: st.DrawFn, text: str) -> str:
    """The same word, written otherwise."""
    pieces: list[str] = []
    for character in text:
        way = draw(st.sampled_from(["plain", "plain", "single", "double", "escape", "empty"]))
        pieces.append(
            {
                "plain": character,
                "single": f"'{character}'",
                "double": f'"{character}"',
                "escape": "\\" + character,
                "empty": f"''{character}",
            }[way]
        )
    return "".join(pieces)


@st.composite
def disguised(draw: st.DrawFn) -> str:
    blank = st.sampled_from([" ", "  ", "\t", " \\\n", " \t "])
    words = [quoted(draw, word) for word in ("rm", "-rf", "x")]
    return draw(blank).join(words)


@given(disguised())
@example("r\\m '-'rf x")
def test_quoting_and_blanks_change_nothing(command: str) -> None:
    assert screened(command, made(["Bash"], [], ["Bash(rm -rf *)"])).outcome is not ScreenOutcome.ALLOW, command
    script = taken_apart(command)
    if isinstance(script, Script):
        assert [word.value for word in script.parts[0].command.words] == ["rm", "-rf", "x"]
        assert screened(command, made([], [], ["Bash(rm -rf *)"])).outcome is ScreenOutcome.DENY


@given(
    st.text(max_size=30),
    st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(["command", "file_path", "path", "url", "pattern", "skill", "subagent_type"]),
            st.text(max_size=30) | st.integers() | st.none() | st.lists(st.text(max_size=3), max_size=2),
        ),
    ),
    st.lists(st.text(max_size=20) | RULES | st.text(max_size=12).map("Read({})".format), max_size=4),
)
def test_nothing_raises(tool: str, values: dict[str, object] | None, texts: list[str]) -> None:
    found: list[Rule] = []
    for action in (Action.ALLOW, Action.ASK, Action.DENY):
        for text in texts:
            rule = parse_rule(text, action, Source(Layer.USER))
            if isinstance(rule, RuleProblem):
                assert rule.reason
            else:
                found.append(rule)
    by = Rules(found, PLACE)
    for name in (tool, "Bash", "Read", "Edit", "Glob", "WebFetch", "Skill", "Agent", "mcp__a__b"):
        assert screen(ToolUse(name, values), by).reason


@given(ANYTHING)
def test_the_same_command_gives_the_same_verdict(command: str) -> None:
    by = made(["Bash(git *)", "Bash(ls *)"], [], ["Bash(rm *)"])
    first = screen(bash(command), by)
    taken_apart.cache_clear()
    assert screen(bash(command), by) == first
