"""`cancel.*`: how long each step of a cancellation may take."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

CANCEL: tuple[Setting, ...] = (
    Setting(
        "cancel.interrupt",
        "engine.cancel_interrupt_s",
        value_types.duration(0, 600),
        "how long a cancelled agent may take to stop its turn before it gets SIGINT",
    ),
    Setting(
        "cancel.sigint",
        "engine.cancel_sigint_s",
        value_types.duration(0, 600),
        "how long to wait after SIGINT before SIGTERM",
    ),
    Setting(
        "cancel.term",
        "engine.cancel_term_s",
        value_types.duration(0, 600),
        "how long to wait after SIGTERM before the agent and everything it started are killed",
    ),
    Setting(
        "cancel.insist",
        "engine.cancel_insist_s",
        value_types.duration(0, 600),
        "a cancel this long after the last step escalates at once; an earlier one counts as a repetition",
    ),
)
