"""Load the handler of a command and run it, in an event loop if it is a coroutine function."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import cast


def load_handler(name: str, package: str = "betcode.cli") -> Callable[..., int]:
    """Import the handler `module:function` and return a function that runs it; only this module is imported.

    A handler that is a coroutine function runs in an event loop. There, Ctrl-C cancels it and then raises
    KeyboardInterrupt. A handler that blocks first, to read stdin or to start a program, is a plain function, since
    Ctrl-C does not interrupt blocking calls in an event loop.
    """
    import inspect  # not at the top: `--help` does not need it

    module, _, function = name.partition(":")
    handler = getattr(importlib.import_module(f"{package}.{module}"), function)
    if not inspect.iscoroutinefunction(handler):
        return cast("Callable[..., int]", handler)
    import anyio

    return partial(anyio.run, handler)
