"""What follows from a tool's row alone for the end of its calls, worked out once and not for every call."""

from dataclasses import dataclass

from gateway.arguments.canonical import canonical
from gateway.audit.trail import Trail
from gateway.call import Decision
from gateway.registry.catalogue import Entry
from gateway.result.redact import Redaction, compile_redactions, redact
from gateway.result.scrub import scrub_text
from gateway.result.shape import Shaping, shaping_of
from gateway.rows import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one tool's results are shaped, and what of its arguments no line shows."""

    tool: Tool
    shaping: Shaping
    private_arguments: tuple[Redaction, ...]


class Plans:
    """The plan of every tool that was called."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, str], Plan] = {}
        """By tenant and name: two tenants may have different tools of one name."""

    def of(self, entry: Entry) -> Plan:
        """The tool's plan; made again when the registry has a new row for it."""
        at = (entry.agent.tenant, entry.tool.name)
        plan = self._plans.get(at)
        if plan is None or plan.tool is not entry.tool:
            plan = Plan(
                tool=entry.tool,
                shaping=shaping_of(entry.tool, entry.output_schema),
                private_arguments=compile_redactions(entry.tool.private_arguments),
            )
            self._plans[at] = plan
        return plan

    def shaping(self, entry: Entry, decision: Decision) -> Shaping:
        """How this call's result is shaped: as the row says, and stricter where policy obliges."""
        shaping = self.of(entry).shaping
        return shaping.under(decision.obligations) if decision.obligations else shaping

    def shown_arguments(self, trail: Trail) -> str:
        """The arguments as the line shows them: without the private ones, and without a credential.

        Nothing when that fails: a line that shows too little is better than none, or than one that shows too much.
        """
        try:
            return self._without_secrets(trail)
        except Exception:  # noqa: BLE001 - the call must have its line
            return ""

    def _without_secrets(self, trail: Trail) -> str:
        if trail.arguments is None or trail.tool is None:
            return ""
        plan = self._plans.get((trail.principal.tenant, trail.tool.name))
        is_its = plan is not None and plan.tool is trail.tool  # another call may have met a newer row meanwhile
        private = plan.private_arguments if plan and is_its else compile_redactions(trail.tool.private_arguments)
        shown = trail.arguments.canonical
        if private:
            shown = canonical(redact(trail.arguments.value, private)[0])
        text = shown.decode()
        return scrub_text(text, trail.secrets) if trail.secrets else text
