"""Build the answer to a prompt from command-line options."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit, edited_in_line
from betcode.wording.prompts import asks_each_time, chosen_options, offered


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to questions, by the exact text of the question."""

    given: Mapping[str, str]


def answer_from(options: CommandOptions, prompt: v1.PendingPrompt | None) -> v1.PermissionResponse | Answers:
    """Build the answer. `prompt` is None if it is no longer open; the daemon then says why the answer is too late.

    Raises:
        CommandFailed: the answer does not fit the prompt.
    """
    if options.text("message") and not options.flag("deny"):
        raise _invalid("--message requires --deny")
    if options.flag("stop") and not options.flag("deny"):
        raise _invalid("--stop requires --deny")
    if options.texts("question") or options.texts("choose"):
        if options.flag("equal"):
            raise _invalid("--equal applies only to permissions: questions are answered one group at a time")
        return _answers(options, prompt)
    if options.flag("allow"):
        return v1.PermissionResponse(decision=v1.ALLOW_ONCE)
    if options.flag("deny"):
        decision = v1.DENY_WITH_INTERRUPT if options.flag("stop") else v1.DENY
        return v1.PermissionResponse(decision=decision, message=options.text("message"))
    if options.has("edit"):
        return v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json=_edited(options, prompt))
    return v1.PermissionResponse(decision=v1.ALLOW_SESSION, grant_pattern=_pattern(options, prompt))


def _edited(options: CommandOptions, prompt: v1.PendingPrompt | None) -> str:
    text = options.text("edit").strip()
    if not text:
        raise _invalid("--edit is empty: give the changed input, or use --allow")
    if prompt is None and not text.startswith("{"):
        # No longer open: the daemon reports the earlier answer
        return json.dumps({"command": text}, ensure_ascii=False)
    try:
        return edited_in_line(prompt.permission if prompt else v1.PermissionRequest(), text)
    except InvalidEdit as trouble:
        raise _invalid(str(trouble)) from None


def _pattern(options: CommandOptions, prompt: v1.PendingPrompt | None) -> str:
    """Return the given rule, the offer with the given number, or the narrowest offer."""
    text = options.text("allow_session").strip()
    if not text and not options.flag("allow_session"):
        raise _invalid("--allow-session: give a rule, or omit the value")
    if not text and prompt is not None and asks_each_time(prompt.permission):
        raise _invalid(f"A rule requires asking each time, so a grant has no effect: {prompt.permission.deciding_rule}")
    if prompt is None or not (text.isascii() and text.isdigit()):
        return text
    pattern = offered(prompt.permission.grant_offers, int(text))
    if pattern is None:
        listed = "; ".join(
            f"{number} = {offer.pattern}" for number, offer in enumerate(prompt.permission.grant_offers, 1)
        )
        raise _invalid(f"No offer {text}: {listed or 'name a rule'}")
    return pattern


def _answers(options: CommandOptions, prompt: v1.PendingPrompt | None) -> Answers:
    if prompt is None:
        return _too_late(options)
    questions = prompt.questions.questions
    if not questions:
        tool = prompt.permission.tool_name
        raise _invalid(f"{tool} asks for permission: answer with --allow or --deny")
    given: dict[str, str] = {}
    choices = options.texts("choose")
    if len(choices) > len(questions):
        raise _invalid(f"{len(choices)} choices for {len(questions)} questions: give one --choose for each, in order")
    for question, choice in zip(questions, choices, strict=False):
        chosen = chosen_options(question, choice)
        if chosen is None:
            several = "several separated by commas" if question.multi_select else "just one"
            raise _invalid(
                f"{choice!r} is not an option from 1 to {len(question.options)}, {several}: {question.question}"
            )
        given[question.question] = chosen
    for text in options.texts("question"):
        asked, answer = _worded(questions, text)
        given[asked.question] = chosen_options(asked, answer) or answer
    return Answers(given)


def _too_late(options: CommandOptions) -> Answers:
    """Return the typed answers unchanged: the daemon compares them with the earlier answer."""
    pairs = (text.partition("=") for text in options.texts("question"))
    typed = {name: answer.strip() for name, _, answer in pairs}
    return Answers(typed or dict.fromkeys(options.texts("choose"), "chosen"))


def _worded(questions: Sequence[v1.UserQuestion], text: str) -> tuple[v1.UserQuestion, str]:
    """Return the answer and its question, which is given by text, header or number."""
    for number, question in enumerate(questions, 1):
        for name in (question.question, question.header, str(number)):
            if name and text.startswith(f"{name}="):
                answer = text[len(name) + 1 :].strip()
                if answer:
                    return question, answer
    names = "; ".join(f"{number} = {question.question}" for number, question in enumerate(questions, 1))
    raise _invalid(f'{text!r} matches no question: write --question "NUMBER=ANSWER" ({names})')


def _invalid(message: str) -> CommandFailed:
    return CommandFailed(message, ExitCode.INVALID_ARGUMENTS)
