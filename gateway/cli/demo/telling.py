"""Both scenes, told to a person and to a script."""

from typing import Any

from rich.console import Console

from gateway.cli.demo.checks import run_checks
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.refund.checks import run_refund_checks
from gateway.cli.demo.refund.evidence import LeftOut, RefundEvidence
from gateway.cli.demo.refund.report import print_refund, with_refund
from gateway.cli.demo.report import print_report, summary


def tell(console: Console, first: Evidence, second: RefundEvidence | LeftOut) -> dict[str, Any]:
    """Show what happened; what `.run/demo.json` holds comes back. `ok` says that everything held that was played."""
    checks = run_checks(first)
    others = () if isinstance(second, LeftOut) else run_refund_checks(second)
    print_report(console, first, checks)
    print_refund(console, second, others)
    return with_refund(summary(first, checks), second, others)
