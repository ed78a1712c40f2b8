"""The second scene for a script and for a person."""

from typing import Any

from rich.console import Console

from gateway.cli.demo.record_checks import Check
from gateway.cli.demo.refund.evidence import LeftOut, RefundEvidence
from gateway.cli.demo.report import print_report, summary
from gateway.cli.terminal import shown

TITLE = "A customer is double charged"

Json = dict[str, Any]


def with_refund(first: Json, second: RefundEvidence | LeftOut, checks: tuple[Check, ...]) -> Json:
    """The first scene's summary with `scene2` in it. A scene that was left out is no failure, and said in so many
    words; one that was played must hold too.
    """
    if isinstance(second, LeftOut):
        return first | {"scene2": {"run": False, "why": second.why}}
    told = {"run": True, "title": TITLE, **summary(second, checks), **_effects(second)}
    return first | {"ok": first["ok"] and told["ok"], "scene2": told}


def print_refund(console: Console, second: RefundEvidence | LeftOut, checks: tuple[Check, ...]) -> None:
    """What happened in it, or why nothing did."""
    console.rule(shown(f"Scene two: {TITLE.lower()}"))
    if isinstance(second, LeftOut):
        console.print(shown(f"It was left out: {second.why}.", style="yellow"))
    else:
        print_report(console, second, checks)


def _effects(second: RefundEvidence) -> Json:
    """How much there is of each at the vendors themselves."""
    return {
        "refunds": len(second.refunds),
        "issues": len(second.issues),
        "messages": len(second.messages),
        "mails": len(second.mailbox),
    }
