"""Background tasks and scheduled jobs of the agent. While one is alive, the agent is not idle."""

import msgspec
from msgspec import Raw, Struct, field

from betcode.domain.values.text import shortened
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import Job, OpenTool
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import BackgroundTasks, TaskNotification, TaskStarted, TaskUpdated

_MS = 1_000_000
_WEEK_NS = 7 * 24 * 3600 * 1_000_000_000  # a repeating job expires then
_WAKEUP = "wakeup"
_MOST = 64
_LONGEST = 200
_OVER = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


class _Scheduled(Struct):
    id: str = ""
    schedule: str = field(default="", name="humanSchedule")
    recurring: bool = False
    next_ms: float = field(default=0, name="nextFireAt")
    wakeup_ms: float = field(default=0, name="scheduledFor")
    jobs: "list[_Scheduled] | None" = None


# ---------------------------------------------------------------- background tasks


def on_tasks(frame: BackgroundTasks, builder: ClaudeEventBuilder) -> None:
    builder.state.background = {task.task_id: _label(task.description, task.task_type) for task in frame.tasks[:_MOST]}


def on_task_started(frame: TaskStarted, builder: ClaudeEventBuilder) -> None:
    if not frame.is_backgrounded:
        return
    label = _label(frame.description, frame.task_type)
    builder.state.background[frame.task_id] = label
    builder.notice(
        v1.NOTICE_KIND_BACKGROUND,
        f"Started in the background: {label}",
        task_id=frame.task_id,
        tool_use_id=frame.tool_use_id,
        task_type=frame.task_type,
        state="started",
    )


def on_task_updated(frame: TaskUpdated, builder: ClaudeEventBuilder) -> None:
    if frame.patch.is_backgrounded and frame.task_id not in builder.state.background:
        builder.state.background[frame.task_id] = _label("", "")


def on_task_notification(frame: TaskNotification, builder: ClaudeEventBuilder) -> None:
    """A background task has ended; one in the foreground says so by its tool's result."""
    if frame.status not in _OVER:
        return
    label = builder.state.background.pop(frame.task_id, None)
    if label is not None:
        builder.notice(
            v1.NOTICE_KIND_BACKGROUND,
            shortened(frame.summary, _LONGEST) or label,
            task_id=frame.task_id,
            tool_use_id=frame.tool_use_id,
            state=frame.status,
        )


def _label(description: str, kind: str) -> str:
    return shortened(description, _LONGEST) or kind or "a background task"


# ---------------------------------------------------------------- scheduled jobs


def deleted_by(tool_name: str, own_input: bytes) -> str:
    """The job that a call deletes, when it succeeds."""
    return _read(own_input).id if tool_name == "CronDelete" else ""


def happened(builder: ClaudeEventBuilder, tool: OpenTool, outcome: Raw) -> None:
    """A scheduling tool has succeeded."""
    state = builder.state
    match tool.name:
        case "CronDelete":
            state.jobs.pop(tool.job, None)
        case "CronCreate":
            job = _read(outcome)
            state.jobs[job.id] = _job(job, builder)
        case "CronList":
            listed = _read(outcome).jobs
            if listed is not None:
                wakeup = state.jobs.get(_WAKEUP)
                state.jobs = {job.id: _job(job, builder) for job in listed[:_MOST]}
                if wakeup is not None:
                    state.jobs[_WAKEUP] = wakeup
        case "ScheduleWakeup":
            at_ns = int(_read(outcome).wakeup_ms) * _MS
            if at_ns:
                state.jobs[_WAKEUP] = Job("a wake-up", at_ns)
            else:
                state.jobs.pop(_WAKEUP, None)
        case _:
            pass


def forget_past(builder: ClaudeEventBuilder) -> None:
    """A turn begins: what was due before it has happened."""
    if builder.state.jobs:
        builder.state.jobs = {name: job for name, job in builder.state.jobs.items() if job.over_ns > builder.wall_ns}


def _job(job: _Scheduled, builder: ClaudeEventBuilder) -> Job:
    label = shortened(job.schedule, _LONGEST) or job.id
    return Job(label, builder.wall_ns + _WEEK_NS if job.recurring or not job.next_ms else int(job.next_ms) * _MS)


def _read(source: Raw | bytes) -> _Scheduled:
    try:
        return msgspec.json.decode(source, type=_Scheduled, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Scheduled()
