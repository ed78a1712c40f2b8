"""The one screen that `serve` shows when it is ready."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.audit.open import audit_directory
from gateway.cli.terminal import shown
from gateway.description import Description, Listening
from gateway.rows import Agent, Disposition, Tool

_PATHS = {"metrics": "/metrics", "events": "/v1/events/TENANT/CONNECTION", "keys": "/.well-known/jwks.json"}
"""What is read, or delivered to, at each address over HTTP."""
MOST = 12
"""Tools and agents that are named; of more the screen tells the number."""


def print_screen(console: Console, running: Description, config: Path | None) -> None:
    """What the gateway listens on, what decides, which tools there are, who sees how many, where it keeps what."""
    word = "ready" if running.policy_revision else "up"
    console.print(Text(f"Tollhouse is {word}.", style="bold green" if word == "ready" else "bold yellow"))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, words in _facts(running, config):
        facts.add_row(Text(name), words)
    console.print(facts)
    if not running.agents:
        console.print(Text("Nobody can call anything yet: no agent has a row in the registry.", style="bold yellow"))
        console.print("Run `tollhouse init my-gateway` for a project whose first call works.")


def _facts(running: Description, config: Path | None) -> list[tuple[str, Text]]:
    facts = [("settings", shown(config or "the built-in default"))]
    facts += [(_place(one), shown(_listener(one))) for one in running.listeners]
    facts += [(name, shown(f"{address} ({_PATHS[name]})")) for name, address in running.http_addresses.items()]
    facts.append(("policy", _policy(running)))
    facts += [("", shown(words)) for words in running.policy_from]
    facts.append(("tools", _listed([tool.name for tool in running.tools])))
    facts.append(("agents", _listed([_agent(agent, running.tools) for agent in running.agents])))
    facts.append(("store", shown(running.store)))
    facts.append(("audit", shown(audit_directory(running.state_dir))))
    if running.recovered_calls:
        words = f"{running.recovered_calls} calls that a crash had cut off now have their line"
        facts.append(("recovered", shown(words, style="yellow")))
    return facts


def _place(one: Listening) -> str:
    return "control on" if one.is_for_control else "listens on"


def _listener(one: Listening) -> str:
    return f"{one.address} ({', '.join(one.services)}) for {one.identity}"


def _policy(running: Description) -> Text:
    if not running.policy_revision:
        return shown(
            f"{running.policy_engine}, NOT READY: nothing is allowed yet ({running.policy_problem})", style="yellow"
        )
    revision = running.policy_revision
    cut = f"{revision[:19]}…" if revision.startswith("sha256:") else revision
    return shown(f"{running.policy_engine}, revision {cut}")


def _listed(names: list[str]) -> Text:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return shown(f"{len(names)}: {', '.join(names[:MOST])}{more}" if names else "none")


def _agent(agent: Agent, tools: tuple[Tool, ...]) -> str:
    seen = sum(_is_seen(agent, tool) for tool in tools)
    return f"{agent.tenant}/{agent.name} sees {seen}"


def _is_seen(agent: Agent, tool: Tool) -> bool:
    """The registry's rule (`gateway.registry.catalogue.visible_names`), for one pair."""
    if tool.name in agent.tools:
        return True
    return tool.disposition is Disposition.ALWAYS and not tool.groups.isdisjoint(agent.groups)
