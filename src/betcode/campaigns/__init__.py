"""Campaigns: the registered ones, the environment of their sessions, and commands confined to their directory."""

from betcode.campaigns.campaign_cache import Campaigns, Survey, campaign_here, survey
from betcode.campaigns.command_runner import Executor, Exit, Output, Piece
from betcode.campaigns.environment import SessionFacts, check_asked, command_environment, session_environment
from betcode.campaigns.event_router import EventRouter
from betcode.campaigns.keys import provider_keys
from betcode.campaigns.sandbox import Sandbox
from betcode.domain.obey.campaigns import Campaign

__all__ = [
    "Campaign",
    "Campaigns",
    "EventRouter",
    "Executor",
    "Exit",
    "Output",
    "Piece",
    "Sandbox",
    "SessionFacts",
    "Survey",
    "campaign_here",
    "check_asked",
    "command_environment",
    "provider_keys",
    "session_environment",
    "survey",
]
