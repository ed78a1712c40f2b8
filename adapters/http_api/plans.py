"""A row's request, compiled once, and filled in for every call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from adapters.base import ArgumentIssue, ArgumentProblem, SideEffect
from adapters.http_api.answers import Answer, read_answer
from adapters.http_api.bodies import Body, Content, Members, read_body
from adapters.http_api.fields import Field, Header, read_fields, read_headers
from adapters.http_api.names import alike, read_name
from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import Tokens
from adapters.http_api.shapes import Shapes
from adapters.http_api.templates import MAX_PLACE, Slot, Template, read_template
from adapters.http_api.unsent import KEY as UNSENT
from adapters.http_api.unsent import check_sent
from adapters.recipes import Recipe, RecipeProblem

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_KEYS = ("method", "path", "query", "headers", "body", "key_header", "answer", UNSENT)
_CHANGING = ("PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A request's parts for one call. What they hold may be private and is never printed."""

    path: str = field(repr=False)
    query: Mapping[str, list[str]] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One request as a row says it."""

    method: str
    path: Template
    query: tuple[Field, ...]
    headers: tuple[Header, ...]
    body: Body | None
    key_header: str
    """The header that carries our key, by which the service tells repetitions apart; empty when it takes none."""
    answer: Answer
    is_read: bool

    @property
    def title(self) -> str:
        """The request in words that no argument is in."""
        return f"{self.method} {self.path.text}"

    @property
    def header_names(self) -> frozenset[str]:
        """What the row sets, as servers tell names apart."""
        return frozenset(map(alike, (*(one.name for one in self.headers), self.key_header))) - {""}

    @property
    def sent(self) -> set[Tokens]:
        """Where the arguments are that are in the request."""
        sources = [one.source for one in self.query] + [one.source for one in self.headers]
        sources += () if self.body is None else self.body.sources
        slots = {(one.name,) for one in self.path.parts if isinstance(one, Slot)}
        return slots | {one.tokens for one in sources if one.tokens is not None}

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as they are, all of which fit. Raises `ArgumentProblem`."""
        self.fill(arguments)
        return dict(arguments)

    def fill(self, arguments: Mapping[str, Any]) -> Filled:
        """The request for these arguments. Raises `ArgumentProblem` with everything that does not fit."""
        issues: Issues = []
        body = None if self.body is None else self.body.written(arguments, issues)
        filled = Filled(
            path=self.path.fill(arguments, issues),
            query={one.name: texts for one in self.query if (texts := one.texts(arguments, issues))},
            headers=self._headers(arguments, issues, has_body=body is not None),
            body=body,
        )
        if not issues and _length(filled) > MAX_PLACE:
            message = f"The arguments make an address of more than {MAX_PLACE} characters; shorten them."
            issues.append(ArgumentIssue(path=self._longest(arguments), rule="max_length", message=message))
        if issues:
            raise ArgumentProblem(*dict.fromkeys(issues))
        return filled

    def _headers(self, arguments: Mapping[str, Any], issues: Issues, *, has_body: bool) -> dict[str, str]:
        headers = {"Content-Type": self.body.kind} if self.body is not None and has_body else {}
        for one in self.headers:
            text = one.text(arguments, issues)
            if text is not None:
                headers[one.name] = text
        return headers

    def _longest(self, arguments: Mapping[str, Any]) -> str:
        """Where the longest argument is of those in the address."""
        lengths = {f"/{one.name}": len(str(arguments[one.name])) for one in self.path.parts if isinstance(one, Slot)}
        for one in self.query:
            lengths[one.source.pointer] = sum(map(len, one.texts(arguments, [])))
        return max((pointer for pointer in lengths if pointer), key=lambda pointer: lengths[pointer], default="")


def plan_of(recipe: Recipe) -> Plan:
    """The plan that a row's options say. Raises `RecipeProblem` with everything that is wrong with them."""
    issues: Issues = []
    part, shapes = Part(recipe.options, "", issues), Shapes(recipe.input_schema)
    part.only(*_KEYS)
    method = part.choice("method", METHODS)
    plan = Plan(
        method=method,
        path=read_template(part, "path", shapes),
        query=read_fields(part.part("query"), shapes, has_style=True),
        headers=read_headers(part.part("headers"), shapes),
        body=read_body(part.part("body"), shapes) if part.has("body") else None,
        key_header=_key_header(part),
        answer=read_answer(part.part("answer"), method),
        is_read=recipe.side_effect is SideEffect.READ,
    )
    _check_method(part, plan, recipe)
    _check_headers(part, plan)
    check_sent(part, shapes, plan.sent)
    if issues:
        raise RecipeProblem(*dict.fromkeys(issues))
    return plan


def _key_header(part: Part) -> str:
    name = part.text("key_header") if part.has("key_header") else ""
    return read_name(part, "key_header", name, is_argument=True) if name else ""


def _check_method(part: Part, plan: Plan, recipe: Recipe) -> None:
    if plan.method in ("GET", "HEAD"):
        if part.has("body"):
            part.problem("body", "method", f"A {plan.method} has no body; give its values in the query.")
        if not plan.is_read:
            message = (
                f"A {plan.method} may be repeated by whatever lies between, so a tool whose side effect is "
                f"{recipe.side_effect} cannot be one; use the service's POST."
            )
            part.problem("method", "side_effect", message)
    if plan.method in _CHANGING and plan.is_read:
        part.problem("method", "side_effect", f"A {plan.method} changes something, so the tool cannot be a read.")
    if part.has("key_header") and plan.is_read:
        part.problem("key_header", "side_effect", "A read needs no key; leave it out.")


def _check_headers(part: Part, plan: Plan) -> None:
    headers = part.part("headers")
    for one in plan.headers:
        if alike(one.name) == alike(plan.key_header):
            part.problem("key_header", "twice", "This header is set by `headers` too.")
        if alike(one.name) == "content-type" and not _is_json_type(plan.body, one.source.value):
            name = next(str(name) for name in headers.raw if alike(str(name)) == "content-type")
            headers.problem(name, "content_type", "May only name another type of JSON, for a body of JSON.")


def _is_json_type(body: Body | None, value: object) -> bool:
    kind = str(value).partition(";")[0].strip().lower()
    return isinstance(body, Content | Members) and (kind == "application/json" or kind.endswith("+json"))


def _length(filled: Filled) -> int:
    """Characters of the path and the query. What is too long as it is, is not escaped first."""
    query = [(name, text) for name, texts in filled.query.items() for text in texts]
    bare = len(filled.path) + sum(len(name) + len(text) + 2 for name, text in query)
    if bare > MAX_PLACE:
        return bare
    return len(filled.path) + sum(len(quote(name, safe="")) + len(quote(text, safe="")) + 2 for name, text in query)
