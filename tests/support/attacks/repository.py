"""A repository whose settings name programs wherever git would take one; each leaves a mark with its name."""

from dataclasses import dataclass
from pathlib import Path

from support.git.repositories import commit, git, make_repository

HOOKS = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit"),
    *("post-index-change", "post-merge", "post-rewrite", "pre-auto-gc", "pre-commit", "pre-push", "pre-rebase"),
    *("prepare-commit-msg", "reference-transaction", "sendemail-validate"),
)


@dataclass(frozen=True)
class Hostile:
    path: Path
    marks: Path

    def found(self) -> set[str]:
        """The programs that were run since somebody looked."""
        names = {mark.name for mark in self.marks.iterdir()}
        for name in names:
            (self.marks / name).unlink()
        return names


def make_hostile_repository(at: Path) -> Hostile:
    marks = at / "marks"
    marks.mkdir(parents=True)
    program = at / "program"
    program.write_text(f'#!/bin/sh\n: > "{marks}/$1"\n[ "$2" = filter ] && exec cat\nexit 0\n', encoding="utf-8")
    program.chmod(0o755)

    inner = make_repository(at / "inner")
    path = make_repository(at / "shop", {"README": "hello\n", "b/c": "x\n"})
    git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "module")
    commit(path, {".gitattributes": "* filter=odd merge=odd\nREADME diff=odd\n", "README": "more\n"})
    git(path, "worktree", "add", "-q", "-b", "other", str(at / "other"))

    hooks = at / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\n: > {marks}/hook-{name}\ncat > /dev/null\n", encoding="utf-8")
        hook.chmod(0o755)
    (path / ".git" / "hooks").rename(path / ".git" / "hooks-as-made")
    (path / ".git" / "hooks").symlink_to(hooks)

    (at / "included").write_text(f"[core]\n\tfsmonitor = {program} included-fsmonitor\n", encoding="utf-8")
    settings = path / ".git" / "config"
    settings.write_text(settings.read_text() + _settings(str(program), at), encoding="utf-8")
    (path / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program} worktree-fsmonitor\n")
    of_module = path / ".git" / "modules" / "module" / "config"
    of_module.write_text(f"{of_module.read_text()}[core]\n\tfsmonitor = {program} module-fsmonitor\n")
    return Hostile(path, marks)


def _settings(program: str, at: Path) -> str:
    return f"""
[core]
    repositoryformatversion = 1
    fsmonitor = {program} fsmonitor
    hooksPath = {at}/hooks
    pager = {program} pager
    editor = {program} editor
    sshCommand = {program} ssh
    askPass = {program} askpass
    gitProxy = {program} proxy
    alternateRefsCommand = {program} alternates
    splitIndex = true
    untrackedCache = true
[extensions]
    worktreeConfig = true
    partialClone = origin
[include]
    path = {at}/included
[diff]
    external = {program} diff-external
    submodule = log
[diff "odd"]
    command = {program} diff-command
    textconv = {program} textconv
    cachetextconv = true
[filter "odd"]
    clean = {program} clean filter
    smudge = {program} smudge filter
[merge "odd"]
    driver = {program} merge-driver
[gpg]
    program = {program} gpg
[commit]
    gpgSign = true
[tag]
    gpgSign = true
[log]
    showSignature = true
[credential]
    helper = !{program} credential
[credential "https://example.com"]
    helper = !{program} credential-of-host
[remote "origin"]
    url = ext::{program} ext
    uploadpack = {program} uploadpack
    receivepack = {program} receivepack
    promisor = true
    partialCloneFilter = blob:none
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[uploadpack]
    packObjectsHook = {program} pack-hook
[submodule "module"]
    update = !{program} submodule-update
[status]
    submoduleSummary = true
    showUntrackedFiles = no
[alias]
    status = !{program} alias
    list = !{program} alias
[pager]
    status = {program} pager-status
    diff = {program} pager-diff
[sequence]
    editor = {program} sequence-editor
[interactive]
    diffFilter = {program} diff-filter
[trace2]
    eventTarget = {at}/marks/trace2
[gc]
    auto = 1
    autoDetach = false
[color]
    ui = always
    diff = always
[hook "odd"]
    event = post-checkout
    event = reference-transaction
    command = {program} configured-hook
"""
