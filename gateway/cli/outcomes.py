"""How outcomes look: one colour for each kind, the same in every command."""

_STYLES = {
    "ok": "green",
    "replay": "green",
    "pending": "yellow",
    "rate_limited": "yellow",
    "budget_exceeded": "yellow",
    "cancelled": "yellow",
    "unknown": "bold red",
    "outcome_unknown": "bold red",
    "internal_error": "bold red",
}


def style_of(outcome: str) -> str:
    """The style of an outcome's word; a refusal's for every code that has none of its own."""
    return _STYLES.get(outcome, "red")
