"""AgentService has the calls that were published, and ours beside them."""

import pytest

from betcode.v1 import agent_pb2
from support.published.descriptors import calls_of, lines

SERVICE = agent_pb2.DESCRIPTOR.services_by_name["AgentService"]


@pytest.mark.behaviour("contract.agent.rpcs")
def test_the_service_has_its_published_calls() -> None:
    assert lines(
        """
        Converse(stream AgentRequest) -> stream AgentEvent
        ListSessions(ListSessionsRequest) -> ListSessionsResponse
        ResumeSession(ResumeSessionRequest) -> stream AgentEvent
        CompactSession(CompactSessionRequest) -> CompactSessionResponse
        CancelTurn(CancelTurnRequest) -> CancelTurnResponse
        RequestInputLock(InputLockRequest) -> InputLockResponse
        """
    ) <= calls_of(SERVICE)


def test_the_service_has_the_added_calls() -> None:
    assert lines(
        """
        Follow(FollowRequest) -> stream AgentEventBatch
        Submit(SubmitRequest) -> SubmitResponse
        RenameSession(RenameSessionRequest) -> RenameSessionResponse
        CloseSession(CloseSessionRequest) -> CloseSessionResponse
        DeleteSession(DeleteSessionRequest) -> DeleteSessionResponse
        ForkSession(ForkSessionRequest) -> ForkSessionResponse
        ExportSession(ExportSessionRequest) -> stream ExportChunk
        SearchSessions(SearchSessionsRequest) -> SearchSessionsResponse
        ListPending(ListPendingRequest) -> ListPendingResponse
        WatchPending(WatchPendingRequest) -> stream PendingChange
        ListSessionGrants(ListSessionGrantsRequest) -> ListSessionGrantsResponse
        ClearSessionGrants(ClearSessionGrantsRequest) -> ClearSessionGrantsResponse
        SetSessionGrant(SetSessionGrantRequest) -> SetSessionGrantResponse
        AnswerLockRequest(AnswerLockRequestRequest) -> AnswerLockRequestResponse
        AnswerPermission(AnswerPermissionRequest) -> AnswerPermissionResponse
        AnswerQuestion(AnswerQuestionRequest) -> AnswerQuestionResponse
        ReadBlob(ReadBlobRequest) -> stream BlobChunk
        SetBudget(SetBudgetRequest) -> SetBudgetResponse
        WithdrawMessage(WithdrawMessageRequest) -> WithdrawMessageResponse
        ReadEvents(ReadEventsRequest) -> ReadEventsResponse
        ListProviders(ListProvidersRequest) -> ListProvidersResponse
        """
    ) <= calls_of(SERVICE)
