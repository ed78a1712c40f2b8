"""What a policy calls, read off its syntax tree, so that a policy that cannot work is refused before it decides.

The embedded engine finds out that a function is missing when it evaluates the call. By then a call of
an agent waits for it, so every call is looked at when the policy loads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.policy.base import PolicyProblem

FORBIDDEN = frozenset({"http.send", "opa.runtime", "time.now_ns", "net.lookup_ip_addr", "uuid.rfc4122", "rand.intn"})
"""Calls that reach outside, or whose answer is another one when a decision is replayed."""

UNBOUNDED = frozenset({"numbers.range", "numbers.range_step", "net.cidr_expand"})
"""Calls that make a few characters into any number of values. The engine has no time limit, and a rule that
reaches one for an argument of an agent's choice is quick whenever it is measured.
"""

ALWAYS_THERE = frozenset({"print"})
"""Statements of the language that the engine does not list as functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One module's syntax tree, as the engine prints it."""

    file: str
    package: str
    imports: dict[str, str]
    rules: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One call, or one replacement of a `with`: the full name and the place."""

    name: str
    file: str
    line: int

    def problem(self, rule: str, message: str) -> PolicyProblem:
        """A problem at this place."""
        return PolicyProblem(file=f"{self.file}:{self.line}", rule=rule, message=message)


def trees(syntax: list[Any]) -> list[Tree]:
    """The modules of the engine's syntax tree."""
    return [_tree(module) for module in syntax]


def problems_in(modules: Iterable[Tree], builtins: frozenset[str], *, is_test: bool = False) -> list[PolicyProblem]:
    """A problem for each call of what is neither defined here nor built in, for each forbidden call, and for
    each `with` (outside tests: it could put an input of its own in place of the call's).
    """
    modules = list(modules)
    defined = {name for module in modules for name in _functions(module)}
    problems = []
    for module in modules:
        for use in _uses(module, defined):
            problems += _judge(use, defined, builtins, is_test=is_test)
        for use in _replacements(module):
            problems += _judge_replacement(use, module, is_test=is_test)
    return problems


def _judge(use: Use, defined: set[str], builtins: frozenset[str], *, is_test: bool) -> list[PolicyProblem]:
    if use.name in FORBIDDEN or use.name.startswith("rand."):
        return [use.problem("forbidden_call", f"{use.name} may not be called: a decision depends on its input alone")]
    if use.name in UNBOUNDED and not is_test:
        return [use.problem("unbounded_call", f"{use.name} is for tests only: what it makes could stop every call")]
    if use.name in defined or use.name in builtins or use.name in ALWAYS_THERE:
        return []
    return [use.problem("unknown_call", f"{use.name} is neither defined in this policy nor built into the engine")]


def _judge_replacement(use: Use, module: Tree, *, is_test: bool) -> list[PolicyProblem]:
    if not is_test:
        return [use.problem("with", "`with` is for tests only")]
    # The engine evaluates an imported package before it replaces anything, so such a test tests nothing.
    imported = sorted(path for path in module.imports.values() if path.startswith("data."))
    return [use.problem("import_and_with", f"write {path} in full instead of importing it") for path in imported]


def _tree(module: Any) -> Tree:
    syntax = module["ast"]
    package = "data." + _path(syntax["package"]["refr"])
    return Tree(
        file=module["source"]["file"],
        package=package,
        imports=dict(_imported(each) for each in syntax["imports"]),
        rules=syntax["rules"],
    )


def _imported(each: Any) -> tuple[str, str]:
    path = _path(each["refr"])
    alias = each["as"][1] if each.get("as") else path.rpartition(".")[2]
    return alias, path


def _functions(module: Tree) -> Iterator[str]:
    for rule in module.rules:
        head = rule.get("Spec", {}).get("head", {}).get("Func")
        if head is not None:
            yield f"{module.package}.{_path(head['refr'])}"
        default = rule.get("Default")
        if default is not None and default.get("args"):
            yield f"{module.package}.{_path(default['refr'])}"


def _uses(module: Tree, defined: set[str]) -> Iterator[Use]:
    """Every call, and every function that a `with` names as a replacement."""
    for node in _nodes(module.rules):
        call = node.get("Call")
        if isinstance(call, dict) and "fcn" in call:
            yield _use(module, call["fcn"], defined)
        for change in node.get("with_mods") or ():
            name = _path(change["as"])
            if name in FORBIDDEN:
                yield _use(module, change["as"], defined)


def _replacements(module: Tree) -> Iterator[Use]:
    for node in _nodes(module.rules):
        for change in node.get("with_mods") or ():
            yield Use(name=_path(change["refr"]), file=module.file, line=_line(change["refr"]))


def _use(module: Tree, function: Any, defined: set[str]) -> Use:
    written = _path(function)
    first, _, rest = written.partition(".")
    if first in module.imports:
        written = f"{module.imports[first]}.{rest}" if rest else module.imports[first]
    local = f"{module.package}.{written}"
    return Use(name=local if local in defined else written, file=module.file, line=_line(function))


def _path(reference: Any) -> str:
    """`a.b.c` for a reference; what is computed inside brackets is `[]` and so never equals a name."""
    if not isinstance(reference, dict) or len(reference) != 1:
        return "[]"
    kind = next(iter(reference))
    node: dict[str, Any] = reference[kind]
    if kind == "Var":
        return str(_value(node["value"]))
    if kind == "RefDot":
        return f"{_path(node['refr'])}.{_value(node['field'])}"
    if kind == "RefBrack":
        index = node["index"].get("String")
        return f"{_path(node['refr'])}.{_value(index['value']) if index else '[]'}"
    return "[]"


def _value(written: Any) -> Any:
    """A name is printed as itself or as [place, name]."""
    return written[1] if isinstance(written, list) else written


def _line(reference: Any) -> int:
    node: Any = next(iter(reference.values()), {}) if isinstance(reference, dict) else {}
    line = node.get("span", {}).get("line", 0) if isinstance(node, dict) else 0
    return int(line)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in the tree, whatever it stands for: a call may hide in any position."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
