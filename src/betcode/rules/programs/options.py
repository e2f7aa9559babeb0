"""Options that a wide rule does not cover, because they run or write something else."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from betcode.rules.programs.git import is_operand, risky_in_git
from betcode.rules.programs.sed import is_harmless, scripts
from betcode.rules.syntax.commands import SimpleCommand, Word, names
from betcode.rules.syntax.variables import is_own_variable

_APT: Final = ("-o", "--option", "-c", "--config-file")
_AWK: Final = (
    *("-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"),
    *("-o", "--pretty-print", "-d", "--dump-variables", "-p", "--profile", "-D", "--debug"),
)
_CC: Final = ("-B", "-fplugin", "-specs", "--specs", "-wrapper", "@")
_NC: Final = ("-e", "-c", "--exec", "--sh-exec", "--lua-exec")
_NPM: Final = (
    *(
        "--script-shell",
        "--shell",
        "--node-options",
        "--userconfig",
        "--globalconfig",
        "--npmrc",
        "--editor",
        "--viewer",
        "--browser",
        "--git",
        "--init-module",
        "-c",
        "--call",
    ),
)
_VIM: Final = (
    *("-c", "--cmd", "-S", "-s", "-u", "-U", "-w", "-W", "+", "-e", "-E", "-V", "-i", "-l", "--listen", "--remote"),
    *("--remote-expr", "--remote-send", "--startuptime"),
)
_SVN: Final = (*("--config-option", "--config-dir", "--editor-cmd", "--diff-cmd", "--diff3-cmd", "--merge-cmd"),)
# A rule such as `git log *` is not intended for these: it covers them only if it spells them out.
RISKY: Final[Mapping[str, tuple[str, ...]]] = {
    "apt": _APT, "apt-cache": _APT, "apt-get": _APT, "aptitude": _APT,
    "ar": ("--plugin",),
    "awk": _AWK, "gawk": _AWK, "mawk": _AWK, "nawk": _AWK,
    "cargo": ("--config", "--manifest-path", "-C"),
    "cc": _CC, "c++": _CC, "clang": _CC, "clang++": _CC, "g++": _CC, "gcc": _CC,
    "cmake": ("-P", "-E", "-C"),
    "curl": ("-o", "--output", "-O", "--remote-name", "--remote-name-all", "--output-dir", "-K", "--config", "-D",
             "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--libcurl", "--etag-save",
             "--hsts", "--alt-svc", "--engine", "--unix-socket", "--abstract-unix-socket"),
    "diff3": ("--diff-program",), "sdiff": ("--diff-program", "-o", "--output"),
    "dnf": ("-c", "--config", "--setopt", "--installroot"), "yum": ("-c", "--config", "--setopt", "--installroot"),
    "dpkg": ("--pre-invoke", "--post-invoke", "--status-logger", "--root", "--admindir", "--instdir"),
    "eslint": ("-c", "--config", "--rulesdir", "--resolve-plugins-relative-to", "--parser", "--plugin", "-o",
               "--output-file", "-f", "--format"),
    "ex": _VIM, "gvim": _VIM, "nvim": _VIM, "vi": _VIM, "view": _VIM, "vim": _VIM, "vimdiff": _VIM,
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "find": ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "fzf": ("--preview", "--bind", "--with-shell"),
    "git": ("--exec-path", "--config-env", "--upload-pack", "--receive-pack", "--ext-diff", "--output", "--exec",
            "--open-files-in-pager", "--exec-batch", "--template", "--git-dir", "--work-tree", "--output-directory",
            "--extcmd", "--config", "--unsafe-paths", "--prefix", "--in-place", "--separate-git-dir"),
    "go": ("-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool", "-o", "--o", "-C", "-overlay",
           "-modfile", "--overlay", "--modfile"),
    "gpg": ("--exec-path", "--agent-program", "--dirmngr-program", "--gpgconf-program", "--photo-viewer", "--options",
            "--homedir", "-o", "--output", "--log-file"),
    "gradle": ("-I", "--init-script", "-b", "--build-file", "-c", "--settings-file", "-p", "--project-dir"),
    "hg": ("--config", "--debugger", "-R", "--repository", "--cwd"),
    "install": ("--strip-program",),
    "iptables": ("-M", "--modprobe"), "ip6tables": ("-M", "--modprobe"),
    "less": ("+", "-o", "-O", "-k", "--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src",
             "--lesskey-content"),
    "make": ("--eval", "-E", "-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "SHELL",
             ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES"),
    "man": ("-P", "--pager", "-H", "--html", "-C", "--config-file"),
    "more": ("+",),
    "mvn": ("-f", "--file", "-s", "--settings", "-gs", "--global-settings"),
    "mypy": ("--config-file", "--python-executable", "--install-types"),
    "nc": _NC, "ncat": _NC, "netcat": _NC,
    "ninja": ("-f", "-C", "-t"),
    "nm": ("--plugin",),
    "nmap": ("--script", "--datadir", "--servicedb", "-oN", "-oX", "-oS", "-oG", "-oA"),
    "npm": _NPM, "pnpm": _NPM, "yarn": _NPM,
    "openssl": ("-out", "-keyout", "-engine", "-provider", "-provider-path", "-config", "-writerand"),
    "pip": ("--python", "--log"), "pip3": ("--python", "--log"),
    "prettier": ("--plugin", "--plugin-search-dir", "--config"),
    "printf": ("-v",),
    "pylint": ("--init-hook", "--load-plugins", "--rcfile"),
    "rg": ("--pre", "--hostname-bin"),
    "rpm": ("-E", "--eval", "-D", "--define", "--pipe", "--macros", "--rcfile", "--load"),
    "rsync": ("-e", "--rsh", "--rsync-path", "-M", "--remote-option", "--log-file", "--daemon", "--config"),
    "rustc": ("-C", "--codegen"),
    "scp": ("-o", "-S", "-F", "-D"),
    "sed": ("-i", "--in-place", "-f", "--file"),
    "sftp": ("-o", "-S", "-F", "-D", "-b"),
    "sort": ("--compress-program", "-o", "--output"),
    "split": ("--filter",),
    "ssh": ("-o", "-F", "-E", "-I"),
    "ssh-add": ("-s", "-S"), "ssh-keygen": ("-D", "-w"),
    "svn": _SVN,
    "tar": ("-I", "-F", "-P", "--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command",
            "--rmt-command", "--info-script", "--new-volume-script", "--index-file", "--absolute-names",
            "--listed-incremental", "--volno-file"),
    "tcpdump": ("-z", "-w"),
    "test": ("-v", "-R"),
    "tree": ("-o",),
    "tshark": ("-X", "-w"),
    "wget": ("--use-askpass", "-e", "--execute", "--config", "-O", "--output-document", "-o", "--output-file", "-a",
             "--append-output", "-P", "--directory-prefix", "--save-cookies", "--warc-file", "--hsts-file",
             "--rejected-log"),
    "yq": ("-i", "--inplace", "--in-place", "-s", "--split-exp", "--security-enable-system-operator"),
    "zip": ("-T", "-TT", "--unzip-command"),
}  # fmt: skip
# Their letters are never bundled; npm and its kin take one dash for two.
_LONG_WITH_ONE_DASH: Final = names("c++ cc clang clang++ find g++ gcc go mvn nmap npm openssl pnpm yarn")
_ONE_DASH_OR_TWO: Final = frozenset({"npm", "pnpm", "yarn"})
# The words after -- are passed on.
_HANDS_ON: Final = frozenset({"cargo", "npm", "pnpm", "yarn"})
# With these options the output is discarded if the target is in _NOWHERE; other letters in a bundle take the rest.
_OUTPUT: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "curl": ("oD", ("--output", "--dump-header")),
    "wget": ("Oo", ("--output-document", "--output-file")),
}
_NOWHERE: Final = frozenset({"-", "/dev/null", "/dev/stdout", "/dev/stderr"})
_TAKING: Final[Mapping[str, str]] = {"curl": "AEFHQTUXbdehmruwxyz", "wget": "ABDIQRTUXltw"}
_FIRST: Final = {name: frozenset(option[0] for option in options) for name, options in RISKY.items()}
_LETTERS: Final = {
    name: frozenset(option[1] for option in options if len(option) == 2 and option[0] == "-")
    for name, options in RISKY.items()
    if name not in _LONG_WITH_ONE_DASH
}
# Shell builtins that set the variables that they name, and evaluate a subscript in the name.
_NAMING: Final = names("declare export getopts let local read readonly typeset unset")
_NAMING_OPTIONS: Final = names("-r -x -g -p -f -F -s -rx -xr -gx")
# The beginning of a word that is no option, whatever globs and braces in it expand to.
_PLAIN_BEGINNING = re.compile(r"[\w./~][^$`]*", re.DOTALL)
# In an awk program: it runs something, reads a computed file name, or writes; a comparison matches too.
_AWK_ACTS = re.compile(r"system|getline|[|>@]")
_QUOTED_BEGINNING = re.compile(r'"[\w./]')


def risky_words(command: SimpleCommand) -> tuple[int, ...]:
    """Return the words that make a known program run or write something else, or may do so."""
    name = (command.name or "").rpartition("/")[2]
    if name in _NAMING:
        return tuple(number for number, word in enumerate(command.words) if number and not _names_its_own(word))
    options = RISKY.get(name)
    if options is None:
        return ()
    found: set[int] = set()
    for number, word in enumerate(command.words):
        if word.value == "--" and name in _HANDS_ON:
            break
        if number and (
            _may_be_risky(command, number, name)
            if word.value is None
            else _is_risky(name, word.value, options) and not _goes_nowhere(command, number, name)
        ):
            found.add(number)
    found.update(_by_meaning(command, name))
    return tuple(sorted(found))


def _is_risky(name: str, value: str, options: tuple[str, ...]) -> bool:
    if value[:1] not in _FIRST[name]:
        return False
    if _is_one_of(value, options) or (
        name in _ONE_DASH_OR_TWO and value[:1] == "-" and _is_one_of(f"-{value}", options)
    ):
        return True
    return _bundles(value, _LETTERS.get(name, frozenset()), _TAKING.get(name, ""))


def _goes_nowhere(command: SimpleCommand, number: int, name: str) -> bool:
    """Return whether it is an option for an output path that discards the output."""
    letters, long = _OUTPUT.get(name, ("", ()))
    value = command.words[number].value or ""
    following = command.words[number + 1].value if number + 1 < len(command.words) else None
    option, equals, rest = value.partition("=")
    if option in long:
        return (rest if equals else following) in _NOWHERE
    at = next((at for at, letter in enumerate(value) if at and letter in _LETTERS.get(name, frozenset())), None)
    if value.startswith("--") or at is None or value[at] not in letters:
        return False
    return (value[at + 1 :] or following) in _NOWHERE


def _by_meaning(command: SimpleCommand, name: str) -> Iterator[int]:
    """Return the words that are risky for another reason than being an option."""
    values = [word.value or "" for word in command.words]
    if name == "git":
        yield from risky_in_git(command)
    elif name == "sed":
        yield from (number for number, script in scripts(values) if not is_harmless(script))
    elif name == "tar" and values[1:] and values[1][:2] != "--" and not _LETTERS[name].isdisjoint(values[1]):
        yield 1  # the first word needs no dash
    elif name == "curl":
        yield from (number for number, value in enumerate(values) if "%output" in value)
    elif RISKY[name] is _AWK:
        yield from (number for number, value in enumerate(values) if number and _AWK_ACTS.search(value))


def _may_be_risky(command: SimpleCommand, number: int, name: str) -> bool:
    """Return whether a word of unknown value could be one of the program's risky options."""
    if name == "printf":
        return number == 1 and not _begins_plainly(command.words[1])
    if name in ("sed", "ssh", "test") or RISKY[name] is _AWK:
        return True  # any word can be the script or the command
    if name == "git" and is_operand(command, number):
        return False
    return not _begins_plainly(command.words[number]) or (name == "tar" and number == 1)


def _begins_plainly(word: Word) -> bool:
    beginning = _QUOTED_BEGINNING.match if word.single else _PLAIN_BEGINNING.fullmatch
    return beginning(word.written) is not None


def _names_its_own(word: Word) -> bool:
    """Return whether it sets only the script's own variables, or is an option without effect."""
    if word.value in _NAMING_OPTIONS:
        return True
    name, equals, _ = (word.written if word.value is None else word.value).partition("=")
    return (word.value is not None or bool(equals)) and is_own_variable(name)


def _bundles(value: str, letters: frozenset[str], taking: str) -> bool:
    """Is it a bundle of short options with one of the letters? Values count as letters, but for those of `taking`."""
    if value[:1] != "-" or value[1:2] == "-" or letters.isdisjoint(value):
        return False
    end = next((at for at, letter in enumerate(value) if letter in taking), len(value))
    return not letters.isdisjoint(value[:end])


def _is_one_of(value: str, options: tuple[str, ...]) -> bool:
    name = value.partition("=")[0]
    for option in options:
        if value == option or value.startswith(option + "="):
            return True
        if not option.startswith("--") and len(option) <= 2 and value.startswith(option):
            return True  # -ofile
        if option.startswith("--") and len(name) > 2 and option.startswith(name):
            return True  # programs take a unique beginning for the whole
    return False
