"""A mechanism has one implementation: other modules do not start processes, replace files or renew events by hand."""

import ast

from support.source_trees import source_trees

# Modules that rename without writing a file's content. Everyone else uses betcode.util.atomic_files.
RENAMES = {
    "cli/config/import_offer.py",  # installs a directory
    "cli/db/repair.py",  # moves the damaged database aside
    "cli/doctor/repair.py",  # moves a run's directory aside
    "holder/clients.py",  # renames a socket
    "tui/composer/outbox.py",  # changes a message's state, which is part of the file name
    "util/atomic_files.py",
    "util/state_files.py",  # moves an entry of an unusable type aside
    "worktrees/remove/delete_directory.py",  # moves a directory aside before it is deleted
}

# Modules that start a process which is not a bounded child. Everyone else uses betcode.proc.
PROCESSES = {
    "agents/openclaw/start.py",  # a gateway that outlives its starter
    "cli/daemon/control.py",  # a daemon that outlives its starter
    "cli/worktree/run.py",  # the user's command, on the user's terminal
    "holder/agent.py",  # the agent: forked by the holder, which needs the standard library only
    "holder/launch.py",  # the holder: outlives the daemon
    "holder/platform.py",  # `ps` on systems without /proc; the holder cannot import betcode.proc
    "holder/program.py",  # the holder's fork into the background
    "proc/child.py",
    "wording/editor.py",  # the user's editor, on the user's terminal
}
_STARTS = {
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "anyio": {"open_process", "run_process"},
    "os": {"fork", "forkpty", "popen", "posix_spawn", "posix_spawnp", "spawnv", "spawnve", "spawnvp", "system"},
    "pty": {"fork", "spawn"},
    "multiprocessing": {"Process"},
}


def renames(tree: ast.AST) -> bool:
    """Whether the code renames a file or gives it a second name: `os.replace`, `Path.rename`, `hardlink_to`, …"""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and owner.id in ("os", "shutil"):
            if name in ("rename", "renames", "replace", "move"):
                return True
        elif name == "hardlink_to" or (name in ("rename", "replace") and len(node.args) == 1 and not node.keywords):
            return True  # str.replace has two arguments
    return False


def starts_a_process(tree: ast.AST) -> bool:
    """Whether the code uses a function of the standard library or of anyio that starts a process."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                used = {name.name for name in names}
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attribute)):
                used = {attribute}
            case _:
                continue
        if used & _STARTS.get(module, set()):
            return True
    return False


def renews_an_event(tree: ast.AST) -> bool:
    """Whether an event is replaced by a new one outside of `__init__`, or a condition is used."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name == "__init__":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and _makes_event(node.value) and _has_attribute(node.targets):
                return True
    return any(isinstance(node, ast.Attribute) and node.attr == "Condition" for node in ast.walk(tree))


def _makes_event(value: ast.expr) -> bool:
    calls = value.elts if isinstance(value, ast.Tuple) else [value]
    names = [call.func for call in calls if isinstance(call, ast.Call)]
    return any(
        isinstance(name, ast.Attribute)
        and name.attr == "Event"
        and isinstance(name.value, ast.Name)
        and name.value.id in ("anyio", "asyncio")
        for name in names
    )


def _has_attribute(targets: list[ast.expr]) -> bool:
    return any(isinstance(node, ast.Attribute) for target in targets for node in ast.walk(target))


def test_files_are_replaced_in_one_module() -> None:
    assert {name for name, tree in source_trees().items() if renames(tree)} == RENAMES


def test_a_rename_is_found() -> None:
    for code in (
        "os.replace(a, b)",
        "os.rename(a, b)",
        "path.replace(target)",
        "Path(a).rename(b)",
        "a.hardlink_to(b)",
    ):
        assert renames(ast.parse(code)), code
    for code in (
        "text.replace('a', 'b')",
        "replace(row, state=1)",
        "client.rename(session, name)",
        "at.replace(day=1)",
    ):
        assert not renames(ast.parse(code)), code


def test_processes_are_started_in_one_module() -> None:
    assert {name for name, tree in source_trees().items() if starts_a_process(tree)} == PROCESSES


def test_a_started_process_is_found() -> None:
    for code in ("subprocess.run(argv)", "from subprocess import PIPE, Popen", "anyio.run_process(argv)", "os.fork()"):
        assert starts_a_process(ast.parse(code)), code
    for code in ("from subprocess import PIPE", "proc.run(argv)", "anyio.run(main)", "os.execv(program, argv)"):
        assert not starts_a_process(ast.parse(code)), code


def test_events_are_renewed_in_one_module() -> None:
    assert {name for name, tree in source_trees().items() if renews_an_event(tree)} == {"util/signal.py"}


def test_a_renewed_event_is_found() -> None:
    for code in (
        "self.news = anyio.Event()",
        "old, self.news = self.news, asyncio.Event()",
        "with asyncio.Condition(): ...",
    ):
        assert renews_an_event(ast.parse(f"def wake(self):\n    {code}")), code
    for code in ("def run(self):\n    done = anyio.Event()", "def __init__(self):\n    self.done = anyio.Event()"):
        assert not renews_an_event(ast.parse(code)), code
