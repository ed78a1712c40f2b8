"""What becomes of parts that follow something (a policy, a key set, a credential), told to the log."""

from collections.abc import Callable, Mapping

from gateway.telemetry import Log

OnEvent = Callable[[str, Mapping[str, str]], None]
_LEVELS = {
    "policy_activated": "info",
    "keys_changed": "info",
    "certificate_rotated": "info",
    "policy_allows_anybody": "warning",
    "credential_rotated": "info",
    "credential_not_written": "warning",
}
"""Of events that are no errors."""


def telling(log: Log) -> OnEvent:
    """What became of a policy or of a key set; its problems name files and rules and hold nothing of a call."""

    def tell(name: str, fields: Mapping[str, str]) -> None:
        words = {"problem" if key == "error" else key: value for key, value in fields.items()}
        log.event(name, _LEVELS.get(name, "error"), **words)

    return tell
