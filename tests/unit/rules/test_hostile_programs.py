"""Programs that write, start or obey something else, under rules that name the program and nothing more."""

import pytest

from betcode.rules import ScreenOutcome, ToolUse, screen
from betcode.rules.syntax.commands import names
from support.rules.rules import HOME, PROJECT, grants, rules, screened

PROGRAMS = names(
    "apt apt-get cargo cd chmod cmake cp curl dd dpkg eslint gcc git go gpg install iptables less ln make man mkdir "
    "mv nc npm openssl pip prettier pylint rm rpm rsync scp sdiff sed tar tee touch truncate unzip vim wget yq echo "
    "pushd"
)
WIDE = [*(f"Bash({program} *)" for program in sorted(PROGRAMS)), "Edit(src/**)", "Read"]
OPTIONS = r"""
curl -o /home/ada/.profile h
curl -sSLo x h
curl -o/home/ada/.profile h
curl --outp x h
curl -O h
curl -K evil
curl -fsSLK evil
curl --dump-header x h
curl --trace-ascii x h
curl --engine /tmp/evil.so h
curl --unix-socket /var/run/docker.sock http://x
curl -w '%output{x}y' h
curl -o /dev/null -o x h
wget -O x h
wget -qOx h
wget -HO x h
wget -P /home/ada h
wget --config=evil h
wget --use-ask=evil h
apt -o APT::Update::Pre-Invoke::=evil update
apt-get update -oAPT::Update::Pre-Invoke::=evil
dpkg --pre-invoke=evil -i x
rpm --eval '%(evil)'
pip --python /tmp/evil list
cargo --config 'build.rustc-wrapper="evil"' check
cargo check --manifest-path /tmp/evil/Cargo.toml
cmake -P evil.cmake
cmake -E env evil
gcc -fplugin=/tmp/evil.so x.c
gcc -wrapper evil x.c
go build -overlay=evil ./...
gpg --agent-program evil -k
install -s --strip-program=evil x y
iptables --modprobe=evil -L
less --lesskey-content=x y
man -C evil ls
man --config-f=evil ls
nc -e evil h 1
npm run build --script-shell=evil
npm -prefix /tmp/evil test
openssl enc -in x -out y
openssl speed -engine evil
eslint -c /tmp/evil.js src
eslint --rulesdir /tmp/evil src
prettier --plugin=/tmp/evil.js src
pylint --init-hook=evil src
sdiff --diff-program=evil x y
sdiff -o x y z
vim -es x
vim -V9x y
yq -i . x
""".strip("\n").split("\n")
# Files that say what runs later or what is allowed, changed by a program instead of a redirection.
GUARDED = r"""
cp evil .git/hooks/pre-commit
cp evil/pre-commit .git/hooks
cp -r evil/.git .
cp evil/.bashrc /home/ada
mv x .claude/settings.json
ln -sf x .mcp.json
install x .husky/pre-commit
dd if=x of=/home/ada/.bashrc
tee .git/hooks/pre-commit
tee -a ~/.bashrc
tee ~/.config/betcode/settings.json
tee .GIT/config
sed -i s/a/b/ .git/config
rm -rf .git
touch .envrc
chmod +x .git/hooks/pre-commit
mkdir .claude
truncate -s0 ~/.claude.json
tar xf x -C .git/hooks
unzip x -d .git
rsync x .git/hooks/
scp h:x .git/hooks/
cd .git/hooks && cp /tmp/x pre-commit
cd .git && tee config
timeout 5 tee .git/config
""".strip("\n").split("\n")
# A name that leads elsewhere by the time it is used, and programs that obey the directory they are in.
ELSEWHERE = r"""
ln -s /etc src/x && echo evil > src/x/passwd
cp -a link src/x && echo evil > src/x/passwd
mv link src/x && echo evil > src/x/passwd
tar xf t.tar && echo evil > src/x/passwd
echo < notes; ln -s /etc/passwd notes; echo < notes
cd /tmp/evil && git status
cd /tmp/evil; make
cd .. && npm test
cd && git status
cd - && git status
pushd && git status
cd src || cd ../.. && git status
git -C /tmp/evil status
git -C ../x log
cargo -C /tmp/evil test
""".strip("\n").split("\n")
LAUNCHERS = names("chronic crontab dc ed ifne pee run-parts socat systemd-nspawn xterm")
_wide = rules(allow=WIDE)


@pytest.mark.parametrize("command", [*OPTIONS, *GUARDED, *ELSEWHERE])
def test_a_rule_for_a_program_does_not_cover_what_it_was_not_meant_for(command: str) -> None:
    assert screened(command, _wide).outcome is ScreenOutcome.ASK, command


@pytest.mark.parametrize(
    "command",
    [
        "curl -fsSL https://x.org/a",
        "curl -XPOST -H 'Accept: x/o' -d '{\"a\": 1}' http://localhost",
        "curl -s -o /dev/null -w '%{http_code}' http://localhost",
        "curl -so /dev/null h",
        "curl -D - h",
        "wget -qO- https://x.org",
        "npm run test -- --prefix x -c y",
        "cargo test -- --config x",
        "tar --exclude=.git -czf x.tgz src",
        "tar xzf a.tgz -C build",
        "cp -r a b",
        "rm -rf node_modules",
        "tee notes.txt",
        "ln -s a b",
        "mkdir -p .github/workflows",
        "cd src && git status",
        f"cd {PROJECT} && git status",
        "git -C src log",
        "git -C . log",
        "cd packages/a && npm test",
        "npm --prefix packages/a test",
    ],
)
def test_and_covers_what_it_was_meant_for(command: str) -> None:
    verdict = screened(command, _wide)
    assert verdict.outcome is ScreenOutcome.ALLOW, verdict.reason


@pytest.mark.parametrize("program", sorted(LAUNCHERS))
def test_a_launcher_is_covered_by_its_exact_text_only(program: str) -> None:
    assert screened(f"{program} x", rules(allow=[f"Bash({program} *)"])).outcome is ScreenOutcome.ASK
    assert screened(f"{program} x", rules(allow=[f"Bash({program} x)"])).outcome is ScreenOutcome.ALLOW


@pytest.mark.parametrize(
    ("more", "command"),
    [
        ("Bash(tee .git/hooks/*)", "tee .git/hooks/pre-commit"),
        ("Bash(git -C ../x *)", "git -C ../x log"),
        ("Bash(cd /srv/y)", "cd /srv/y && git status"),
        ("Bash(curl -o out *)", "curl -o out h"),
    ],
)
def test_a_rule_that_names_it_covers_it_whatever_else_is_allowed(more: str, command: str) -> None:
    for allowed in ([more, *WIDE], [*WIDE, more]):
        assert screened(command, rules(allow=allowed)).outcome is ScreenOutcome.ALLOW
    assert screened(command, _wide, grants(more)).outcome is ScreenOutcome.ALLOW


def test_a_shell_that_stands_elsewhere_is_elsewhere() -> None:
    by = rules(allow=["Bash(git *)"])
    for cwd, outcome in (
        (None, ScreenOutcome.ALLOW),
        (f"{PROJECT}/src", ScreenOutcome.ALLOW),
        (HOME, ScreenOutcome.ASK),
    ):
        assert screen(ToolUse("Bash", {"command": "git status"}, cwd), by).outcome is outcome
