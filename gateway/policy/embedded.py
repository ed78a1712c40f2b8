"""The embedded Rego engine. The only file that imports regorus, and its interpreter alone: its compiled
machine (`Rvm`, `Program`) decides wrongly.

Hazards. An engine belongs to the thread that built it; used from another one it panics. A panic is a
BaseException. The interpreter lock is held, and there is no time limit: `gateway.policy.candidate` has a policy
tried and timed in a process of its own before it may decide.
"""

import asyncio
import functools
import json
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import regorus

from adapters.base import Fault
from gateway.call import Decision, DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.base import EngineStatus, PolicyProblem, PolicyUnusable
from gateway.policy.builtins import EXTENSIONS
from gateway.policy.calls import Tree, problems_in, trees
from gateway.policy.decision import read_decision, undefined
from gateway.policy.pack import Module, Pack

# With a backtrace every error of the engine costs 40 ms and its text holds a stack. Rust looks once, at
# the first error, so this is in time.
os.environ["RUST_BACKTRACE"] = "0"

DECISION = "data.gateway.authz.decision"
ADMIN_DECISION = "data.gateway.admin.decision"
"""Decides what operators may do. A policy need not have it: then they may do nothing."""

_UNDEFINED = '"<undefined>"'
_NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
PROBE = (
    '{"principal":{"tenant":"","id":"","kind":"agent","agent":"","scopes":[],"roles":[],"claims":{},"proof":"none"},'
    '"agent":{"name":"","scopes":[],"roles":[],"groups":[],"grants":{},"budgets":[],"caps":[],"collaborators":[]},'
    '"run":{"id":"","step":""},"tool":{"name":"","version":"1","side_effect":"write","risk":"high","kind":"internal",'
    '"groups":[],"requires":[],"trust":"untrusted","sensitivity":"private","cost":{},"vendor":"","operation":"",'
    '"preview":false},"connection":null,"arguments":{},"provenance":{},"approval":null,"call":{"id":"","surface":"grpc","mode":"",'
    '"time":"2000-01-01T00:00:00.000Z","cost":{},"key_given":false,"replay":false}}'
)
"""A call of nobody: a policy has to make something of it. One that allows it is named, and not refused here."""
ADMIN_PROBE = (
    '{"principal":{"tenant":"","id":"","kind":"human","agent":"","scopes":[],"roles":[],"claims":{},"proof":"none"},'
    '"admin":{"action":"registry.put","kind":"tool","name":"nothing","before":null,"after":null},'
    '"call":{"id":"","time":"2000-01-01T00:00:00.000Z"}}'
)
"""The same for the rule that decides on operators."""


class _Interpreter:
    """A regorus engine that is let go of by the thread that built it, whoever lets go of this object: the
    garbage collector runs in any thread, and a traceback may have kept a reference until then.
    """

    def __init__(self) -> None:
        self._left_behind = _left_behind()
        self._left_behind.clear()
        self.rego = regorus.Engine()
        self.rego.set_gather_prints(True)  # never to stderr: a print may hold an argument
        for name, (arity, function) in EXTENSIONS.items():
            self.rego.add_extension(name, arity, function)

    def __del__(self) -> None:
        if _left_behind() is not self._left_behind:
            self._left_behind.append(self.rego)


_OF_THREAD = threading.local()
_KEPT: list[list[regorus.Engine]] = []


def _left_behind() -> list[regorus.Engine]:
    """This thread's engines that another thread was the last to hold; dropped when it builds its next. They
    are kept when the thread ends: nobody may drop them then.
    """
    found: list[regorus.Engine] | None = getattr(_OF_THREAD, "engines", None)
    if found is None:
        found = _OF_THREAD.engines = []
        _KEPT.append(found)
    return found


class EmbeddedEngine:
    """Decides on the thread that built it."""

    name = "embedded"

    def __init__(self, pack: Pack, on_failure: Callable[[str], None] | None = None) -> None:
        """Raises `PolicyUnusable` with every problem. `on_failure` hears in one sentence, without any value
        of the input, why the engine could not answer. `allows_anybody` is whether a call of nobody would be allowed:
        such a policy decides all the same, but hardly as it was meant.
        """
        self._pack = pack
        self._on_failure = on_failure or (lambda _sentence: None)
        self._engine: _Interpreter | None
        checked = _checked(pack)
        self._engine, self.allows_anybody, self._has_admin = checked.engine, checked.allows_anybody, checked.has_admin

    @property
    def revision(self) -> str:
        """The pack's revision."""
        return self._pack.revision

    async def start(self) -> None:
        """Nothing is left to do: the pack was loaded when this was built."""

    async def stop(self) -> None:
        """Nothing is held that has to be let go of."""

    def status(self) -> EngineStatus:
        """Ready, and as new as the pack."""
        return EngineStatus(is_ready=True, revision=self.revision)

    async def decide(self, input_json: bytes) -> Decision:
        """The decision for one input document."""
        return self.decide_now(input_json)

    async def decide_admin(self, input_json: bytes) -> Decision:
        """The decision on what an operator wants to do."""
        if not self._has_admin:
            raise undefined()
        return self._read(self._answer(input_json, ADMIN_DECISION))

    def decide_now(self, input_json: bytes) -> Decision:
        """`decide` without a loop. Raises nothing but `Refusal` with a reason of policy."""
        return self._read(self._answer(input_json, DECISION))

    def _read(self, raw: str | None) -> Decision:
        if raw is None:
            raise undefined()
        return read_decision(raw, self._pack.revision)

    def _answer(self, input_json: bytes, rule: str) -> str | None:
        try:
            return _evaluate(self._engine or self._rebuilt(), input_json, rule)
        except Exception as error:
            self._on_failure(f"policy evaluation failed{_place(error)}")
            raise _unavailable() from error
        except _NOT_OURS:
            raise
        except BaseException as panic:
            # Nobody knows what state it is in: the next call starts with a new one.
            self._engine = None
            self._on_failure("the policy engine panicked and is built anew")
            raise _unavailable() from panic

    def _rebuilt(self) -> _Interpreter:
        self._engine = _loaded(self._pack, _Interpreter())
        return self._engine


def _unavailable() -> Refusal:
    message = "The policy could not be evaluated, so nothing was done. Try again later."
    return Refusal(Reason.POLICY_UNAVAILABLE, message, fault=Fault.ERROR)


def _place(error: Exception) -> str:
    """` at file:line:column`, when the engine says so. The rest of its text may quote a value."""
    for line in str(error).splitlines():
        if line.startswith("-->"):
            return f" at {line.removeprefix('-->').strip()}"
    return ""


def _evaluate(engine: _Interpreter, input_json: bytes, rule: str) -> str | None:
    """The answer as JSON, or None when there is none."""
    engine.rego.set_input_json(input_json.decode())
    raw: str = engine.rego.eval_rule_as_json(rule)
    engine.rego.take_prints()  # dropped: they may hold an argument, and would pile up for ever
    # The JSON of a missing answer is the JSON of a string; as a Python value the two differ.
    if raw == _UNDEFINED and engine.rego.eval_rule(rule) is None:
        return None
    return raw


@functools.cache
def builtin_functions() -> frozenset[str]:
    """The names of every function that a policy may call: the engine's own and ours."""
    scratch = regorus.Engine()
    scratch.add_policy("scratch.rego", "package scratch\n\nnames := opa.runtime().builtins")
    return frozenset(json.loads(scratch.eval_rule_as_json("data.scratch.names"))) | EXTENSIONS.keys()


def packages_of(pack: Pack) -> frozenset[str]:
    """The packages of a pack's modules, each from `data.` on. Raises `PolicyUnusable`."""
    engine = _Interpreter()
    _add_modules(engine, pack.modules)
    return frozenset(tree.package for tree in trees(json.loads(engine.rego.get_ast_as_json())))


def _loaded(pack: Pack, engine: _Interpreter) -> _Interpreter:
    for module in pack.modules:
        engine.rego.add_policy(module.name, module.text)
    engine.rego.add_data_json(pack.data_json)
    return engine


class _Checked(NamedTuple):
    """An engine with a pack, after every check."""

    engine: _Interpreter
    allows_anybody: bool
    """Whether the policy lets nobody in, by either rule."""
    has_admin: bool


def _checked(pack: Pack) -> _Checked:
    """Raises `PolicyUnusable` with all that is wrong."""
    engine = _Interpreter()
    _add_modules(engine, pack.modules)
    syntax = trees(json.loads(engine.rego.get_ast_as_json()))
    problems = problems_in(syntax, builtin_functions()) + _hidden(pack, syntax)
    if problems:
        raise PolicyUnusable(*problems)
    engine.rego.add_data_json(pack.data_json)
    has_admin = any(_defines(tree, ADMIN_DECISION) for tree in syntax)
    allows = _try_out(engine, pack, DECISION, PROBE)
    allows_admin = has_admin and _try_out(engine, pack, ADMIN_DECISION, ADMIN_PROBE)
    return _Checked(engine, allows or allows_admin, has_admin)


def _defines(tree: Tree, path: str) -> bool:
    package, _, name = path.rpartition(".")
    return tree.package == package and any(_rule_name(rule) == name for rule in tree.rules)


def _add_modules(engine: _Interpreter, modules: tuple[Module, ...]) -> None:
    problems = []
    for module in modules:
        try:
            engine.rego.add_policy(module.name, module.text)
        except Exception as error:  # noqa: BLE001 - the engine raises RuntimeError for everything
            problems.append(_syntax_problem(module, error))
    if problems:
        raise PolicyUnusable(*problems)


def _syntax_problem(module: Module, error: Exception) -> PolicyProblem:
    sentence = str(error).rpartition("error:")[2].strip() or "cannot be parsed"
    place = _place(error).removeprefix(" at ")
    return PolicyProblem(file=place or module.name, rule="syntax", message=sentence)


def _hidden(pack: Pack, modules: list[Tree]) -> list[PolicyProblem]:
    """Data at the place of a package would stand in for its rules."""
    problems = []
    for package in sorted({module.package for module in modules}):
        here: Any = pack.data
        for key in package.split(".")[1:]:
            here = here.get(key) if isinstance(here, dict) else here
        if here is not None:
            problems.append(PolicyProblem(file="data", rule="hides_rules", message=f"{package} is a package of rules"))
    return problems


def _try_out(engine: _Interpreter, pack: Pack, rule: str, probe: str) -> bool:
    """Whether the rule lets nobody in. One evaluation, because some mistakes are found only then: a rule that is
    not there, a conflict, an answer that is not a decision.
    """
    try:
        raw = _evaluate(engine, probe.encode(), rule)
        return raw is not None and read_decision(raw, pack.revision).effect is DecisionEffect.ALLOW
    except Refusal as refusal:
        message = f"the answer of {rule} to the first document is not a decision (see decision.schema.json)"
        raise PolicyUnusable(PolicyProblem(file="-", rule=refusal.reason, message=message)) from refusal
    except RuntimeError as error:
        raise PolicyUnusable(_first_problem(error)) from error


def _first_problem(error: RuntimeError) -> PolicyProblem:
    if "not a valid rule path" in str(error):
        return PolicyProblem(file="-", rule="no_decision", message=f"no rule defines {DECISION}")
    sentence = str(error).rpartition("error:")[2].strip()
    return PolicyProblem(file=_place(error).removeprefix(" at ") or "-", rule="evaluation", message=sentence)


class RuleRunner:
    """Runs the tests of a pack and remembers which lines of it were reached."""

    def __init__(self, pack: Pack) -> None:
        """Raises `PolicyUnusable` when the pack or its tests do not load."""
        _checked(pack)
        self._live = {module.name for module in pack.modules}
        self._engine = _Interpreter()
        _add_modules(self._engine, pack.modules + pack.tests)
        self._trees = trees(json.loads(self._engine.rego.get_ast_as_json()))
        problems = problems_in(self._trees, builtin_functions(), is_test=True)
        if problems:
            raise PolicyUnusable(*problems)
        self._engine.rego.add_data_json(pack.data_json)
        self._engine.rego.set_enable_coverage(True)

    def test_rules(self) -> list[tuple[str, str, str]]:
        """File, name and full path of every rule whose name begins with `test_`."""
        found = []
        for module in self._trees:
            names = {name for rule in module.rules if (name := _rule_name(rule)).startswith("test_")}
            found += [(module.file, name, f"{module.package}.{name}") for name in sorted(names)]
        return found

    def run(self, path: str) -> tuple[bool, str]:
        """Whether the rule is true, and otherwise why not."""
        try:
            self._engine.rego.set_input_json("{}")  # without it, what a `with` replaced is still remembered
            raw = self._engine.rego.eval_rule_as_json(path)
        except RuntimeError as error:
            return False, f"{str(error).rpartition('error:')[2].strip()}{_place(error)}"
        return (True, "") if raw == "true" else (False, "is not true")

    def lines_not_reached(self) -> list[tuple[str, int]]:
        """File and line of everything in the pack, tests aside, that no run so far evaluated."""
        report = json.loads(self._engine.rego.get_coverage_report_as_json())
        return [
            (file["path"], line)
            for file in report["files"]
            if file["path"] in self._live
            for line in sorted(set(file["not_covered"]) - set(file["covered"]))
        ]


def _rule_name(rule: Any) -> str:
    head = rule.get("Spec", {}).get("head", {}).get("Compr")
    name = head["refr"].get("Var", {}).get("value", "") if head else ""
    return str(name[1] if isinstance(name, list) else name)
