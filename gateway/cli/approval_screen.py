"""How approvals look on a terminal."""

import difflib
import json
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.terminal import shown, table

Json = dict[str, Any]

_STYLES = {"open": "yellow", "approved": "green", "used": "green", "denied": "red"}


def print_approval(console: Console, found: Json) -> None:
    """One approval for a person."""
    console.print(line_of(found))
    facts = {
        "asked by": f"{found['requester']} (agent {found['agent']}), {found['created_at']}",
        "open until": found["expires_at"],
        "takes": f"{found['needed']} with one of: {', '.join(found['roles'])}",
        "tool": f"{found['tool']} version {found['tool_version']}, over {found['connection']}, risk {found['risk']}",
        "policy": found["policy_revision"],
        "digest": found["arguments_digest"],
    }
    for name, value in facts.items():
        console.print(Text(f"  {name:<11}", style="dim"), shown(value))
    for reason in found["reasons"]:
        console.print(Text("  why        ", style="dim"), shown(reason))
    for one in found["decisions"]:
        word = "approved" if one["approved"] else "denied"
        said = f"{one['person']} as {one['role']}, {one['decided_at']}: {one['reason']}"
        console.print(Text(f"  {word:<11}", style=_STYLES.get(word, "")), shown(said))
    if "arguments" in found:
        console.print(Text("arguments", style="bold"))
        console.print(shown(_pretty(found["arguments"]), lines=True))
    if "preview" in found:
        _print_preview(console, found["preview"])


def _print_preview(console: Console, preview: Any) -> None:
    """What is beside what will be, line by line when the tool tells both."""
    if not (isinstance(preview, dict) and {"was", "will_be"} <= preview.keys()):
        console.print(Text("preview", style="bold"))
        console.print(shown(_pretty(preview), lines=True))
        return
    console.print(Text("was (-) and will be (+)", style="bold"))
    # Not `splitlines`: what JSON does not escape may look like the end of a line, and would forge the next one.
    was, will_be = (_pretty(preview[name]).split("\n") for name in ("was", "will_be"))
    compared = list(difflib.unified_diff(was, will_be, lineterm=""))[2:]  # the first two name files
    for line in compared or ["nothing changes"]:
        console.print(shown(line, style={"-": "red", "+": "green"}.get(line[0], "")))
    rest = {name: value for name, value in preview.items() if name not in ("was", "will_be")}
    if rest:
        console.print(shown(_pretty(rest), lines=True))


def print_table(console: Console, found: list[Json]) -> None:
    """A row for each."""
    made = table("approval", "state", "tool", "asked by", "takes", "have", "until", "why")
    for each in found:
        made.add_row(
            shown(each["approval_id"], style="cyan"),
            shown(each["state"], style=_STYLES.get(each["state"], "")),
            shown(each["tool"]),
            shown(f"{each['agent']} ({each['requester']})"),
            shown(f"{each['needed']} {'/'.join(each['roles'])}"),
            shown(sum(one["approved"] for one in each["decisions"])),
            shown(each["expires_at"]),
            shown(", ".join(each["reasons"])),
        )
    console.print(made)


def line_of(found: Json) -> Text:
    """One approval in one line."""
    style = _STYLES.get(found["state"], "")
    words = shown(f"  {found['approval_id']}  {found['tool']} for {found['agent']}")
    return shown(found["state"], style=style) + words


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def outlook(decided: Json) -> Text:
    """What comes next, after a decision."""
    given = sum(one["approved"] for one in decided["decisions"])
    words = {
        "open": f"{given} of {decided['needed']} have approved",
        "approved": "it runs now",
        "denied": "it will not run, and the agent is told",
    }
    return shown(words.get(decided["state"], ""))
