"""The demo's evidence as something that a person wants to look at, and as a summary for a script."""

import itertools
import json
import shlex
from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.cli.demo.person import Typed
from gateway.cli.demo.record import Record, outcome_of
from gateway.cli.demo.record_checks import Check
from gateway.cli.outcomes import style_of
from gateway.cli.terminal import shown, table

Json = dict[str, Any]

LONGEST_WORD = 12
"""Of what was typed: an approval's id is longer and tells a person nothing more."""


def summary(record: Record, checks: tuple[Check, ...]) -> Json:
    """What `.run/demo.json` holds of a scene."""
    engines = {line["policy_engine"] for line in record.lines if line.get("policy_engine")}
    return {
        "ok": bool(checks) and all(check.holds for check in checks),
        "calls": len(record.calls),
        "lines": len(record.lines_of("call")),
        "approvals": len(record.lines_of("decision")),
        "executions": len(record.lines_of("execution")),
        "chain_verified": record.chain_verified,
        "policy_engine": ", ".join(sorted(engines)),
        "credentials": "openbao",
        "limiter": "valkey",
        "secret_hits": len(record.secret_hits),
        "outcomes": dict(sorted(Counter(outcome_of(call["value"]) for call in record.calls).items())),
        "checks": [{"claim": check.claim, "holds": check.holds, "saw": check.saw} for check in checks],
    }


def print_report(console: Console, record: Record, checks: tuple[Check, ...]) -> None:
    """The calls, what a person decided, the audit lines and the checks, a table each."""
    console.print(_calls(record))
    console.print(_decisions(record))
    console.print(_lines(record))
    console.print(_checks(checks))


def _calls(record: Record) -> Table:
    made = table("", "the agent tries to", "tool", "outcome", "what it is told", "ms", title="What the agent did")
    for index in (0, 5):
        made.columns[index].justify, made.columns[index].no_wrap = "right", True
    says = dict(record.says)
    first = 1
    for alike in _runs(record.answers):
        call, outcome = alike[0], outcome_of(alike[0]["value"])
        times = f" ({len(alike)} times)" if len(alike) > 1 else ""
        made.add_row(
            str(first),
            shown(f"{says.get(call['label'], call['label'])}{times}"),
            shown(call["tool"], style="cyan"),
            Text(outcome, style=style_of(outcome)),
            shown(told(call["value"])),
            f"{sum(one['milliseconds'] for one in alike) / len(alike):.0f}",
        )
        first += len(alike)
    return made


def _runs(calls: tuple[Json, ...]) -> list[list[Json]]:
    """The calls in order; those of one task that came to the same stand together."""
    alike = itertools.groupby(calls, key=lambda call: (call["label"], outcome_of(call["value"])))
    return [list(group) for _, group in alike]


def _decisions(record: Record) -> Table:
    made = table("who", "what is typed", "what comes of it", title="Who decides")
    for typed in record.typed:
        words, style = _came_of(typed)
        command = " ".join(map(_word, ("tollhouse", *typed.words)))
        made.add_row(shown(typed.who), shown(command, style="cyan"), shown(words, style=style))
    return made


def _word(word: str) -> str:
    """As it was typed; of an id the beginning."""
    return shlex.quote(word) if " " in word or len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…"


def _came_of(typed: Typed) -> tuple[str, str]:
    """The gist of what a command printed, and its style."""
    told = typed.told
    if typed.exit_code != 0 or not told:
        return typed.complaint.partition(";")[0] or f"exit code {typed.exit_code}", "red"
    if "approvals" in told:
        waiting = [f"{one['tool']} for {one['agent']}" for one in told["approvals"]]
        return f"{len(waiting)} waiting: {', '.join(waiting)}", "yellow"
    if "stop" in told:
        return f"{told['stop']['scope']} {told['stop']['name']} is stopped", "yellow"
    if not told["decisions"]:
        why = ", ".join(str(reason).partition(":")[0] for reason in told["reasons"])
        return f"asked because of {why}: {json.dumps(told['arguments'], ensure_ascii=False)}", ""
    return f"{told['state']}: it runs", "green"


def told(value: Json) -> str:
    """What an agent reads first in an answer: the receipt, or what is wrong and what it can do."""
    if "result" in value:
        return str(value["result"]["receipt"])
    if "pending" in value:
        return str(value["pending"]["message"])
    error = value.get("error", {})
    issues = " ".join(_issue(issue) for issue in error.get("issues", ()))
    wait = f" (in {error['retry_after_ms'] / 1000:.1f} s)" if error.get("retry_after_ms") else ""
    return f"{issues or error.get('message', '')}{wait}"


def _issue(issue: Json) -> str:
    """Most messages name their field; the others are told where they belong."""
    message = str(issue["message"])
    return message if "`" in message else f"{issue['path'] or '/'}: {message}"


def _lines(record: Record) -> Table:
    made = table("seq", "kind", "tool", "decision", "outcome", "reason", "lent", "ms", title="The audit")
    for index in (0, 7):
        made.columns[index].justify, made.columns[index].no_wrap = "right", True
    for line in record.lines:
        outcome = "replay" if line.get("replay") else str(line.get("outcome", ""))
        scheme = str(line.get("credential", "")).partition(":")[0]
        made.add_row(
            str(line.get("seq", "")),
            shown(line.get("kind", "")),
            shown(line.get("tool", ""), style="cyan"),
            shown(line.get("decision") or "-"),
            Text(outcome, style=style_of(outcome)),
            shown(line.get("reason") or "-"),
            shown(scheme or "-"),
            f"{line.get('duration_us', 0) / 1000:.1f}",
        )
    return made


def _checks(checks: tuple[Check, ...]) -> Table:
    made = table("", "what had to hold", "what was seen", title="Checks")
    for check in checks:
        mark = Text("✓", style="bold green") if check.holds else Text("✗", style="bold red")
        made.add_row(mark, Text(check.claim, style="" if check.holds else "bold red"), shown(check.saw))
    return made
