"""Which commands which rules cover, forbid, or leave to a person."""

import pytest

from betcode.rules import ScreenOutcome, ToolUse, screen
from support.rules.rules import grants, rules, screened

ALLOW, ASK, DENY = ScreenOutcome.ALLOW, ScreenOutcome.ASK, ScreenOutcome.DENY

# rule, command, does the rule cover it?
COVERED = [
    ("Bash", "anything at all", True),
    ("Bash(*)", "anything | at && all", True),
    ("Bash(git *)", "git", True),
    ("Bash(git *)", "git status", True),
    ("Bash(git *)", "git log --oneline --all", True),
    ("Bash(git *)", "  git   status  ", True),
    ("Bash(git *)", "git\tstatus", True),
    ("Bash(git *)", "git \\\n  status", True),
    ("Bash(git *)", 'git commit -m "a; b && c | d"', True),
    ("Bash(git *)", "git commit -m 'it is $(not) run'", True),
    ("Bash(git *)", 'git commit -m "price: \\$5"', True),
    ("Bash(git *)", "git commit -m $'a\\nb'", True),
    ("Bash(git *)", "git log -- *.py", True),
    ("Bash(git *)", "git log $BRANCH", False),
    ("Bash(git *)", 'git log "${BRANCH:-main}"', False),
    ("Bash(git *)", 'git log "main..$BRANCH"', True),
    ("Bash(git log $BRANCH *)", "git log $BRANCH -5", True),
    ("Bash(git *)", "git log src/*.py", True),
    ("Bash(git *)", "git add -A -- *.py", False),
    ("Bash(git *)", 'git commit -m "$(git log)"', True),
    ("Bash(git *)", 'git log -m "$(git log)"', False),
    ("Bash(git *)", "git ls-files | xargs git add --", True),
    ("Bash(git *)", "git ls-files | xargs -I{} git {} add -- x", False),
    ("Bash(xargs git add)", "xargs git add", True),
    ("Bash(git *)", "for b in a b c; do git log; done", True),
    ("Bash(ls *)", "for b in a b c; do ls $b; done", True),
    ("Bash(ls *)", "name=$(ls); ls $name | xargs ls", True),
    ("Bash(git *)", "git config --get user.name", True),
    ("Bash(git *)", "git config user.name x", False),
    ("Bash(git config *)", "git config user.name x", True),
    ("Bash(sed *)", "sed -n '1,5p;/a b/,$d' x", True),
    ("Bash(sed *)", "sed -E -e 's/a\\/(b)/\\1/g' -e '$!N' x", True),
    ("Bash(sed *)", "sed 's/a/b/w x' y", False),
    ("Bash(tar *)", "tar xzf a.tar src/*.py", True),
    ("Bash(sort *)", "sort -u -k 2 x", True),
    ("Bash(rsync *)", "rsync -a x y", True),
    ("Bash(printf *)", 'printf "a $x"', True),
    ("Bash(printf *)", "printf %s $x", True),
    ("Bash(export *)", "export name=$x", True),
    ("Bash(read *)", "read -r line", True),
    ("Bash(git *)", "git switch -c feature", True),
    ("Bash(git *)", "git status # and a comment ; `rm`", True),
    ("Bash(git *)", "git status 2>&1", True),
    ("Bash(git *)", "git status >/dev/null 2>&1", True),
    ("Bash(git *)", "git status 2>/dev/null || git init", True),
    ("Bash(git *)", "git status && git log; git diff & git show", True),
    ("Bash(git *)", "git log | git shortlog", True),
    ("Bash(git *)", "(git status)", True),
    ("Bash(git *)", "{ git status; git log; }", True),
    ("Bash(git *)", "! git diff --quiet", True),
    ("Bash(git *)", "git log $(git merge-base a b)", False),
    ("Bash(git *)", "git log `git merge-base a b`", False),
    ("Bash(git *)", "if git diff --quiet; then git log; else git status; fi", True),
    ("Bash(git *)", "for b in a b c; do git log $b; done", False),
    ("Bash(git *)", "while git fetch; do git status; done", True),
    ("Bash(git *)", "case $x in a) git log;; *) git status;; esac", True),
    ("Bash(git *)", "if [ -f x ]; then git status; fi", True),
    ("Bash(git *)", "[[ $a == b* ]] && git status", True),
    ("Bash(git *)", "git status || true", True),
    ("Bash(git *)", "f() { git status; }", True),
    ("Bash(git *)", "git commit --file=- <<'EOF'\nanything $(here) `too`\nEOF", True),
    ("Bash(git *)", "git commit --file=- <<EOF\nplain text\nEOF", True),
    ("Bash(git *)", "git commit --file=- <<< text", True),
    ("Bash(git *)", "git commit -m \"$(git log <<'EOF'\nlong; `text`\nEOF\n)\"", True),
    ("Bash(git *)", "gi''t status", True),
    ("Bash(git *)", "'git' \"status\"", True),
    ("Bash(git *)", "\\git status", True),
    ("Bash(git *)", "/usr/bin/git status", False),
    ("Bash(git *)", "timeout 5 git status", True),
    ("Bash(git *)", "timeout -k 1 -s TERM 5 git status", True),
    ("Bash(git *)", "time git status", True),
    ("Bash(git *)", "nice -n 10 git status", True),
    ("Bash(git *)", "nohup git fetch &", True),
    ("Bash(git *)", "stdbuf -oL git log", True),
    ("Bash(git *)", "command git status", True),
    ("Bash(git *)", "command -v git", False),
    ("Bash(git *)", "env git status", True),
    ("Bash(git *)", "env CI=1 git status", True),
    ("Bash(git *)", "/usr/bin/env git status", True),
    ("Bash(git *)", "bash -c 'git status && git log'", True),
    ("Bash(git *)", "bash -euo pipefail -c 'git status'", False),
    ("Bash(git *)", "bash -eu -o pipefail -c 'git status'", True),
    ("Bash(git *)", "eval 'git status'", True),
    ("Bash(git *)", "trap 'git stash pop' EXIT; git stash", True),
    ("Bash(git *)", "git ls-files | xargs git add", False),
    ("Bash(git *)", "git ls-files -z | xargs -0 -n 10 git add", False),
    ("Bash(git *)", "git ls-files | xargs -I{} git add {}", False),
    ("Bash(git *)", "NODE_ENV=test git status", True),
    ("Bash(git *)", "FOO=bar git status", False),
    ("Bash(git *)", "sudo git status", False),
    ("Bash(git *)", "gitk", False),
    ("Bash(git *)", "npm test", False),
    ("Bash(git *)", "x=1", False),
    ("Bash(git *)", "true", False),
    ("Bash(git *)", "name=value; git log $name", False),
    ("Bash(git *)", "name=$(git describe); git log $name", False),
    ("Bash(git:*)", "git status", True),
    ("Bash(git:*)", "gitk", False),
    ("Bash(git:* push)", "git push", False),
    ("Bash(npm run test:*)", "npm run test", True),
    ("Bash(npm run test:*)", "npm run test -- --watch", True),
    ("Bash(npm run test:*)", "npm run test:unit", False),
    ("Bash(npm run test:*)", "npm run tests", False),
    ("Bash(npm run test:*)", "npm run build", False),
    ("Bash(npm run build)", "npm run build", True),
    ("Bash(npm run build)", "npm  run   build", True),
    ("Bash(npm run build)", "npm run build --watch", False),
    ("Bash(npm run build)", "xargs npm run build", False),
    ("Bash(npm run *)", "npm run", True),
    ("Bash(npm run *)", "npm install", False),
    ("Bash(ls*)", "ls -la", True),
    ("Bash(ls*)", "lsof", True),
    ("Bash(ls *)", "lsof", False),
    ("Bash(git log * main)", "git log --oneline main", True),
    ("Bash(git log * main)", "git log main", False),
    ("Bash(git log * main)", "git push origin main", False),
    ("Bash(* --version)", "node --version", True),
    ("Bash(* --version)", "node -v", False),
    ("Bash(* --version)", "PATH=/tmp/evil node --version", False),
    ("Bash(* --version)", "node --version; rm x --version", True),
    ("Bash(* --help *)", "npm --help x", True),
    ("Bash(* --help *)", "npm --help", False),
    ("Bash(FOO=bar git *)", "FOO=bar git status", True),
    ("Bash(FOO=* git *)", "FOO=bar git status", False),
    ("Bash(git -c color.ui=never *)", "git -c color.ui=never log", True),
    ("Bash(git -c color.ui=never *)", "git -c color.ui=never -c core.pager=evil log", False),
    ("Bash(sudo apt *)", "sudo apt update", True),
    ("Bash(sudo apt *)", "sudo rm x", False),
    ("Bash(sudo *)", "sudo apt update", False),
    ("Bash(timeout 60 make *)", "timeout 60 make all", True),
    ("Bash(timeout 60 make *)", "timeout 60 makeevil", False),
    ("Bash(find *)", "find . -name '*.py'", True),
    ("Bash(find *)", "find . -name x -delete", False),
    ("Bash(find . -name x -delete)", "find . -name x -delete", True),
    ("Bash(find . -name x -exec rm {} \\;)", "find . -name x -exec rm {} \\;", True),
    ("Bash(watch *)", "watch ls", False),
    ("Bash(watch ls)", "watch ls", True),
    ("Bash(git status && rm -rf build)", "git status && rm -rf build", True),
    ("Bash(git status && rm -rf build)", "git status && rm -rf build x", False),
    ("Bash(git status && rm -rf build)", "rm -rf build", False),
    ('Bash(echo "a b")', 'echo "a b"', True),
    ('Bash(echo "a b")', "echo a b", False),
    ("Bash(echo a b)", 'echo "a b"', False),
    ("Bash(echo \\*)", "echo \\*", False),
    ("Bash(bash *)", "bash script.sh", True),
    ("Bash(bash *)", "bash -c 'ls'", False),
    ("Bash(command *)", "command -v git", True),
    ("Bash(sort *)", "sort -n x", True),
    ("Bash(git *)", "git config --get user.name", True),
    ("Bash(git config *)", "git config user.name me", True),
    ("Bash(git *)", "git bisect start", True),
    ("Bash(git *)", "git clean -n -x", True),
    ("Bash(git *)", 'git log -n"$n" --since="$day"', False),
    ("Bash(git *)", 'git commit -m"$words"', False),
    ("Bash(PowerShell)", "git status", False),
]


@pytest.mark.parametrize(("rule", "command", "covered"), COVERED, ids=[f"{row[0]}:{row[1]}"[:60] for row in COVERED])
def test_an_allow_rule_covers_what_it_says(rule: str, command: str, covered: bool) -> None:
    verdict = screened(command, rules(allow=[rule]))
    assert verdict.outcome is (ALLOW if covered else ASK), verdict.reason


# rule, command, does the rule forbid it?
FORBIDDEN = [
    ("Bash", "ls", True),
    ("Bash(rm *)", "rm x", True),
    ("Bash(rm *)", "rm", True),
    ("Bash(rm *)", "FOO=bar rm x", True),
    ("Bash(rm *)", "/bin/rm x", True),
    ("Bash(rm *)", "../../bin/rm x", True),
    ("Bash(rm *)", "RM x", True),
    ("Bash(rm *)", "r\\m x", True),
    ("Bash(rm *)", "'r'\"m\" x", True),
    ("Bash(rm *)", "$'\\x72m' x", True),
    ("Bash(rm *)", "ls; rm x", True),
    ("Bash(rm *)", "echo $(rm x)", True),
    ("Bash(rm *)", 'echo "`rm x`"', True),
    ("Bash(rm *)", "bash -c 'ls; rm x'", True),
    ("Bash(rm *)", "/tmp/odd/bash -c 'rm x'", True),
    ("Bash(rm *)", "bash -i -c 'rm x'", True),
    ("Bash(rm *)", "sudo -u root rm x", True),
    ("Bash(rm *)", "sudo --unknown rm x", True),
    ("Bash(rm *)", "ls | xargs -0 rm", True),
    ("Bash(rm *)", "find . -exec rm {} +", True),
    ("Bash(rm *)", "watch -n 5 rm x", True),
    ("Bash(rm *)", "strace -f rm x", True),
    ("Bash(rm *)", "eval rm x", True),
    ("Bash(rm *)", "f() { rm x; }", True),
    ("Bash(rm *)", "ls && (cd x; { rm y; })", True),
    ("Bash(rm *)", "ls &&; rm x", True),
    ("Bash(rm *)", "ls $((; rm x", True),
    ("Bash(rm *)", "echo rm x", False),
    ("Bash(rm *)", "echo 'rm x'", False),
    ("Bash(rm *)", "git rm x", False),
    ("Bash(rm *)", "rmdir x", False),
    ("Bash(rm *)", "ls # rm x", False),
    ("Bash(git push *)", "git push", True),
    ("Bash(git push *)", "git -C . push origin", True),
    ("Bash(git push *)", "git -c a=b --no-pager push origin", True),
    ("Bash(git push *)", "git 'push' origin", True),
    ("Bash(git push *)", "git log --grep push", False),
    ("Bash(git push --force*)", "git push --force-with-lease", True),
    ("Bash(* --force)", "git push --force", True),
    ("Bash(*>*)", "ls > x", True),
    ("Bash(run_in_background:true)", "ls", False),
    ("Edit(src/**)", "echo x > src/a", True),
    ("Edit(src/**)", "echo x >> ./src/deep/a", True),
    ("Edit(src/**)", "tee src/a", True),
    ("Edit(src/**)", "cd src && echo x > a", True),
    ("Edit(src/**)", "sed -i s/a/b/ src/a", True),
    ("Edit(src/**)", "cp x src/a", True),
    ("Edit(src/**)", "rm -rf src", True),
    ("Edit(src/**)", "cat src/a", False),
    ("Read(.env)", "cat .env", True),
    ("Read(.env)", "cat deep/.env", True),
    ("Read(.env)", "grep KEY < .env", True),
    ("Read(.env)", "cp .env x", True),
    ("Read(.env)", "cd deep && cat .env", True),
    ("Read(.env)", "echo x > .env", True),
    ("Read(.env)", "cat .ENV", True),
    ("Read(.env)", "cat .env.example", False),
    ("Read(~/.ssh/**)", "cat ~/.ssh/id_rsa", True),
    ("Read(~/.ssh/**)", "cat /home/ada/.ssh/id_rsa", True),
    ("Read(~/.ssh/**)", "cat ../.ssh/id_rsa", True),
]


@pytest.mark.parametrize(("rule", "command", "forbidden"), FORBIDDEN, ids=[f"{r[0]}:{r[1]}"[:60] for r in FORBIDDEN])
def test_a_deny_rule_forbids_what_it_says(rule: str, command: str, forbidden: bool) -> None:
    verdict = screened(command, rules(allow=["Bash"], deny=[rule]))
    assert (verdict.outcome is DENY) is forbidden, verdict.reason
    assert (screened(command, rules(allow=["Bash"], ask=[rule])).outcome is ASK) is (verdict.outcome is not ALLOW)


@pytest.mark.behaviour("permission.rule.command-pattern")
def test_a_command_rule_knows_where_a_word_ends() -> None:
    by = rules(allow=["Bash(git *)"])
    assert screened("git status", by).outcome is ALLOW
    assert screened("gitk", by).outcome is ASK
    assert screened("npm test", by).outcome is ASK


@pytest.mark.parametrize("command", ["$x", "eval $x", "bash", "ls; watch $x", "ls &&", "echo $((x))"])
def test_what_cannot_be_told_asks_where_something_is_forbidden(command: str) -> None:
    assert screened(command, rules(allow=["Bash"])).outcome is ALLOW
    assert screened(command, rules(allow=["Bash"], deny=["Bash(rm *)"])).outcome is ASK
    assert screened(command, rules(allow=["Bash"], ask=["Bash(rm *)"])).outcome is ASK


def test_an_unclear_target_asks_where_files_are_forbidden() -> None:
    assert screened("echo x > $y", rules(allow=["Bash"])).outcome is ALLOW
    assert screened("echo x > $y", rules(allow=["Bash"], deny=["Edit(src/**)"])).outcome is ASK


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("git log > src/log", ALLOW),
        ("git log > src/deep/log 2> src/err", ALLOW),
        ("git log > log", ASK),
        ("git log > /tmp/log", ASK),
        ("cd x && git log > src/log", ASK),
        ("command cd x && git log > src/log", ASK),
        ("eval 'cd x'; git log > src/log", ASK),
        ("git log < any/file/here", ALLOW),
        ("git log < /etc/passwd", ASK),
        ("git log < ../x", ASK),
        ("ls $(<notes)", ALLOW),
        ("ls $(</etc/passwd)", ASK),
    ],
)
def test_files_of_redirections_have_rules_of_their_own(command: str, outcome: ScreenOutcome) -> None:
    assert (
        screened(command, rules(allow=["Bash(git *)", "Bash(ls *)", "Bash(cd *)", "Edit(src/**)"])).outcome is outcome
    )


def test_the_verdict_names_every_rule_that_decided() -> None:
    verdict = screened("git status && npm test", rules(allow=["Bash(npm test)", "Bash(git *)"]))
    assert [rule.text for rule in verdict.rules] == ["Bash(git *)", "Bash(npm test)"]
    assert verdict.rule is verdict.rules[0]
    assert screened("git status", rules(deny=["Bash(git *)"])).rule is not None
    assert screened("git status && rm x", rules(allow=["Bash(git *)"])).reason == "no rule covers rm x"


def test_a_grant_and_a_rule_cover_a_command_together() -> None:
    by = rules(allow=["Bash(git *)"])
    assert screened("git status && npm test", by).outcome is ASK
    assert screened("git status && npm test", by, grants("Bash(npm test)")).outcome is ALLOW
    assert screened("sudo npm test", rules(allow=["Bash(sudo *)"]), grants("Bash(npm *)")).outcome is ALLOW


def test_other_shells_are_only_taken_at_their_word() -> None:
    use = ToolUse("PowerShell", {"command": "Get-ChildItem; Remove-Item x"})
    assert screen(use, rules(allow=["PowerShell(Get-ChildItem *)"])).outcome is ASK
    assert screen(use, rules(allow=["PowerShell(Get-ChildItem; Remove-Item x)"])).outcome is ALLOW
    assert screen(use, rules(allow=["PowerShell"], deny=["PowerShell(Remove-Item *)"])).outcome is DENY
