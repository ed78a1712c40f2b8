"""What an agent is told when a budget or a cap is used up: one sentence, with what and when."""

from gateway.clock import rfc3339
from gateway.rows import DAY_SECONDS, Allowance

CALLS = "calls"
_NAMED_SECONDS = {DAY_SECONDS: "per day (UTC)", 60 * 60: "per hour", 60: "per minute"}
_MOST_NAMES = 3


def opening(allowance: Allowance) -> str:
    """What there is, e.g. `This agent may make 1 call of file_edit per run`."""
    who = "This tenant" if allowance.share == "tenant" else "This agent"
    return f"{who} may {_what(allowance)} {_over(allowance)}"


def ending(allowance: Allowance, amount: int) -> str:
    """How that stops this call."""
    if amount > allowance.limit:
        return "so this call never may" if allowance.unit == CALLS else f"and this call alone takes {amount}"
    if allowance.unit == CALLS:
        return "and has made it" if allowance.limit == 1 else "and has made them"
    return f"and less than this call's {amount} is left"


def renewal(until: float, *, is_shared: bool) -> str:
    """When there is more. `is_shared`: the call is in no opened run, and counts together with all such of a day."""
    moment = f"{rfc3339(until)[:19]}Z"
    if is_shared:
        return f"; its calls in no opened run count together until {moment}"
    return f"; there is more from {moment}"


def _what(allowance: Allowance) -> str:
    limit, unit = allowance.limit, allowance.unit
    if unit == CALLS:
        return f"make {limit} {'call' if limit == 1 else 'calls'}{_meant(allowance, 'of')}"
    if unit.isupper():
        return f"spend {limit} {unit} in minor units{_meant(allowance, 'on')}"
    return f"use {limit} {unit}{_meant(allowance, 'of')}"


def _meant(allowance: Allowance, word: str) -> str:
    """Which calls count."""
    names = sorted(allowance.tools)
    if names:
        more = len(names) - _MOST_NAMES
        listed = f"{', '.join(names[:_MOST_NAMES])} and {more} more" if more > 0 else " or ".join(names)
        return f" {word} {listed}"
    return f" {word} tools that {allowance.side_effect}" if allowance.side_effect else ""


def _over(allowance: Allowance) -> str:
    if allowance.share == "run":
        return "per run"
    each = "per tool " if allowance.share == "tool" else ""
    if allowance.seconds is None:
        return f"{each}in all"
    return each + _NAMED_SECONDS.get(allowance.seconds, f"per {allowance.seconds} seconds")
