"""The store's methods for sessions, events, runs, inputs, blobs and bindings."""

from betcode.storage.sessions import binding_queries, connections, read_queries, write_queries
from betcode.storage.sqlite import usage
from betcode.storage.sqlite.access import DatabaseStore, reads, writes


class SqliteSessions(DatabaseStore):
    """Behind the ports of `betcode.domain.store.store_ports`, where each method is described."""

    find_session = reads(read_queries.find_session)
    list_sessions = reads(read_queries.list_sessions)
    closed_before = reads(read_queries.closed_before)

    read_events = reads(read_queries.read_events)
    read_before = reads(read_queries.read_before)
    events_of_kind = reads(read_queries.events_of_kind)
    newest_of_kind = reads(read_queries.newest_of_kind)
    first_of_kind = reads(read_queries.first_of_kind)

    create_run = writes(write_queries.create_run)
    live_runs = reads(read_queries.live_runs)
    newest_run = reads(read_queries.newest_run)
    sessions_of_runs = reads(read_queries.sessions_of_runs)

    open_inputs = reads(read_queries.open_inputs)
    find_input = reads(read_queries.find_input)

    blob_size = reads(read_queries.blob_size)
    read_blob = reads(read_queries.read_blob)

    bound = reads(binding_queries.bound)
    all_bound = reads(binding_queries.all_bound)
    unfinished = reads(binding_queries.unfinished)

    writable = writes(write_queries.probe)
    used_bytes = reads(usage.used_bytes)
    connections = reads(connections.counts)
