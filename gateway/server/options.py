"""What the transport allows before a request is a call: each number and its reason.

Whoever can reach a listener can use all of this without showing who they are, so all of it has a bound.
What a caller may do is counted later, by admission.
"""

import resource

from gateway.settings.listeners import Listener
from gateway.settings.parts import ServerSettings

TRANSPORT_BYTES = 16 * 1024 * 1024
"""A message, unpacked. Above the gateway's own bounds, so that a request that is too large still becomes a call
with a line.
"""
METADATA_BYTES = 24 * 1024
"""All metadata of one request: a token may have 16 KiB. By itself gRPC turns requests beyond 8 KiB away by chance."""
PING_INTERVAL_MS = 500
"""How often a client may ping a connection on which nothing else happens. Clients send at most one a second; by
gRPC's own allowance (one in five minutes) an idle agent that pings would soon be cut off.
"""
DEAD_PEER_MS = 60_000
"""How long a connection is quiet before we ask whether anybody is there: what a dead caller asked for is cancelled."""
PING_ANSWER_MS = 20_000
"""How long that answer may take."""
HANDSHAKE_MS = 10_000
"""How long a caller may take to connect, TLS included, and to begin to speak HTTP/2."""
STREAMS_PER_CONNECTION = 1024
"""Requests at once on one connection; a client keeps further ones back. As many as the gateway takes on in all."""
MOST_CONNECTIONS = 4096
"""Connections to one listener, if the process may open that many files; see `connections_for`."""
LAST_CALLS_MS = 3_600_000
"""How long calls may go on, at the least, on a connection that has reached its age and takes no new ones."""
SPARE_RPCS = 256
"""Requests beyond twice the calls that the gateway takes on: to turn one away with a reason takes room too."""


def options_for(listener: Listener, settings: ServerSettings, connections: int) -> list[tuple[str, int]]:
    """The options of gRPC itself for this listener."""
    return [
        ("grpc.max_receive_message_length", TRANSPORT_BYTES),
        ("grpc.max_send_message_length", TRANSPORT_BYTES),
        ("grpc.max_metadata_size", METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", METADATA_BYTES),
        ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION),
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        ("grpc.so_reuseport", 0),  # two gateways must never share a port by accident
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", PING_INTERVAL_MS),
        *([] if listener.is_unix else _NETWORK),
        *(_ageing(settings) if listener.tls else []),
    ]


_NETWORK = [("grpc.keepalive_time_ms", DEAD_PEER_MS), ("grpc.keepalive_timeout_ms", PING_ANSWER_MS)]


def _ageing(settings: ServerSettings) -> list[tuple[str, int]]:
    """A certificate is looked at when a connection begins, so no connection may live on for ever. Calls on one that
    is too old end by themselves, also when a reload has let them take longer than they might at the start.
    """
    return [
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", max(LAST_CALLS_MS, int(settings.max_call_seconds * 1000))),
    ]


def connections_for(listeners: int) -> int:
    """How many connections each of so many listeners may hold. Half of the files that the process may open: the
    other half is for journal, audit and vendors, so that strangers cannot take those.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(1, min(MOST_CONNECTIONS, files // 2 // max(1, listeners)))


def requests_for(max_in_flight: int) -> int:
    """How many requests of any kind one listener takes in. Twice the calls that find a place in the gateway: those
    that find none are told so by name, and only beyond that by the transport.
    """
    return 2 * max_in_flight + SPARE_RPCS
