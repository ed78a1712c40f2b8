"""Any HTTP API, from rows: what a vendor's adapter knows by heart, a row says in its binding's options.

A connection's options: `base_url`; `auth`, how its credential is sent (`{kind: bearer}`, `{kind: basic}` for a
credential NAME:PASSWORD, `{kind: header, name: X-Api-Key, form: "{}"}` or `{kind: query, name: api_key}`), which is
there exactly when there is a credential; `headers`, which every request has. A connection with an assertion tells the
service who calls in the header `Tollhouse-Assertion`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Invocation, Operation, Output, Target
from adapters.http_api.accounts import OPTIONS, Account, account_of, problems_of
from adapters.http_api.answers import Kind, read_json, read_nothing, read_text
from adapters.http_api.failures import judge
from adapters.http_api.plans import Filled, Plan, plan_of
from adapters.http_api.proof import Proof, check_credential, query_of, told_again
from adapters.recipes import Recipe
from adapters.transport.api import Api, ApiAdapter, ApiParts, Vendor
from adapters.transport.calls import MAX_BYTES, Call
from adapters.transport.replies import Reply

_UNREAD_BYTES = 64 * 1024
"""How much is taken in of an answer that nobody reads."""


class HttpApiAdapter(ApiAdapter):
    """Whatever speaks HTTP."""

    name = "http_api"
    recipes = ("request",)

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url="", authorises=Proof(), judge=judge, reads=read_json)
        super().__init__(vendor, parts, options=OPTIONS)
        self.operations: Mapping[str, Operation] = {}

        def reading(reads: Vendor) -> Api:
            return Api(reads, parts.transport, parts.clock, parts.pauses)

        self._apis: dict[Kind, Api] = {
            "json": self.api,
            "text": reading(replace(vendor, reads=read_text)),
            "none": reading(replace(vendor, reads=read_nothing)),
        }

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection to a service; empty when all is well."""
        return [*super().check_target(target), *problems_of(target)]

    def make(self, recipe: Recipe) -> Operation:
        """The operation that a row says. Raises `RecipeProblem` with everything that is wrong with it."""
        plan = plan_of(recipe)
        return Operation(
            name=recipe.operation,
            arguments=dict,
            side_effect=recipe.side_effect,
            prepare=plan.prepare,
            invoke=partial(self._invoke, plan),
            has_native_key=bool(plan.key_header),
            upstream=plan.title,
        )

    async def _invoke(self, plan: Plan, invocation: Invocation) -> Output:
        reply = await self._asked(plan, invocation)
        structured = plan.answer.structured(reply)
        receipt = f"{plan.title} was answered with HTTP {reply.status}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def _asked(self, plan: Plan, invocation: Invocation) -> Reply:
        account = account_of(invocation.target)
        check_credential(invocation, account)
        _check_apart(plan, account)
        call = _call(plan, _filled(plan, invocation), invocation, account)
        try:
            return await self._apis[plan.answer.kind].ask(invocation, call)
        except AdapterError as error:
            failure = told_again(error)
        if failure.happened is Happened.YES and plan.answer.kind != "none":
            failure.happened = (
                Happened.UNKNOWN
            )  # a 2xx alone may be a proxy's: only an answer that was read is the service's
        raise failure


def _filled(plan: Plan, invocation: Invocation) -> Filled:
    try:
        return plan.fill(invocation.arguments)
    except ArgumentProblem as problem:  # of a row that is another one than when they were prepared
        message = "The arguments do not fit the tool's row any more; ask again."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from problem


def _call(plan: Plan, filled: Filled, invocation: Invocation, account: Account) -> Call:
    key = {plan.key_header: invocation.effect_id} if plan.key_header else {}
    accept = {} if plan.answer.kind == "json" else {"Accept": "*/*"}
    return Call(
        method=plan.method,
        path=filled.path,
        query={**filled.query, **query_of(invocation, account)},
        body=filled.body,
        headers={**accept, **filled.headers, **account.headers, **key},
        is_read=plan.is_read,
        has_native_key=bool(plan.key_header),
        max_bytes=_UNREAD_BYTES if plan.answer.kind == "none" else MAX_BYTES,
    )


def _check_apart(plan: Plan, account: Account) -> None:
    """A row says nothing that its connection says. Raises `AdapterError`; nothing was sent."""
    query = account.auth.name.lower() if account.auth is not None and account.auth.kind == "query" else ""
    if plan.header_names & account.header_names or query in {one.name.lower() for one in plan.query}:
        message = "The tool's row sets what belongs to its connection; an operator has to correct the row."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
