"""The home of jsonschema_rs: JSON Schema 2020-12, formats asserted, regexes in linear time, no network.

A regex that cannot run in linear time (look-around, back-references) does not compile.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jsonschema_rs
import orjson

from adapters.base import ArgumentIssue
from gateway.arguments.absent import add_defaults, defaults_of, resolve, shape_of
from gateway.arguments.effort import Effort, size_and_depth
from gateway.arguments.strict_json import MAX_ISSUES, escape, printable

_Kind = jsonschema_rs.ValidationErrorKind
_MOST_EFFORT = 1_000_000
"""A tenth of a second by the worst estimate, a few milliseconds in practice: nobody else is served meanwhile."""


class BadSchema(ValueError):  # noqa: N818 - it is the author's problem, and is shown as one
    """A schema that does not compile. The text is a sentence for whoever wrote it."""


class Validator:
    """One compiled schema: a `gateway.rows.Schema`."""

    __slots__ = ("_compiled", "_defaults", "_effort", "_schema", "_shape")

    def __init__(self, schema: Mapping[str, Any], compiled: jsonschema_rs.Draft202012Validator) -> None:
        self._schema = schema
        self._compiled = compiled
        self._defaults = defaults_of(schema)
        self._effort = Effort(schema)
        self._shape = shape_of(schema, _NullCheck(schema))

    def is_valid(self, value: Any) -> bool:
        """Whether the value keeps to the schema. False when it is no JSON value at all."""
        try:
            return self._compiled.is_valid(value)
        except BaseException as error:  # noqa: BLE001 - see _is_verdict
            return _is_verdict(error)

    def issues(self, value: Any) -> tuple[ArgumentIssue, ...]:
        """What is wrong, in the agent's words and without its values; empty when valid, at most 20.

        Of a value so large or so deep that finding everything would take long, the first or a general one.
        """
        if self.is_valid(value):
            return ()
        found: list[ArgumentIssue] = []
        try:
            for error in self._errors(value):
                found.extend(self._issues_of(error))
                if len(found) >= MAX_ISSUES:
                    break
        except BaseException as error:  # noqa: BLE001 - see _is_verdict
            _is_verdict(error)
            found.append(ArgumentIssue(path="", rule="json", message="The value is not JSON."))
        return tuple(found[:MAX_ISSUES]) or (ArgumentIssue(path="", rule="schema", message="The value is not valid."),)

    def problems(self, value: Any) -> list[str]:
        """The issues, a sentence each, for people."""
        return [f"{issue.path or '/'}: {issue.message}" for issue in self.issues(value)]

    def complete(self, value: dict[str, Any], *, may_hold_null: bool) -> dict[str, Any]:
        """The value without nulls that mean absent, and with the defaults of what is absent; in place."""
        if may_hold_null:
            self._shape.drop_nulls(value)
        add_defaults(value, self._defaults)
        return value

    def _errors(self, value: Any) -> Iterable[jsonschema_rs.ValidationError]:
        """All errors of a value, or the first, or none: as many as can be found without holding up everybody."""
        parts, depth = size_and_depth(value)
        effort = self._effort.per_part(depth)
        if effort * parts <= _MOST_EFFORT:
            return self._compiled.iter_errors(value)
        if effort <= _MOST_EFFORT:
            try:
                self._compiled.validate(value)
            except jsonschema_rs.ValidationError as first:
                return (first,)
        return ()

    def _issues_of(self, error: jsonschema_rs.ValidationError) -> Iterator[ArgumentIssue]:
        path = "".join(f"/{escape(str(part))}" for part in error.instance_path)
        kind = error.kind
        if isinstance(kind, _Kind.Required):
            yield _issue(f"{path}/{escape(kind.property)}", kind.name, "is required")
        elif isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties):
            hint = self._known_properties(error)
            for name in kind.unexpected[:MAX_ISSUES]:
                yield _issue(f"{path}/{escape(name)}", kind.name, f"is not known here{hint}")
        else:
            yield _issue(path, kind.name, _sentence(kind))

    def _known_properties(self, error: jsonschema_rs.ValidationError) -> str:
        pointer = "/".join(escape(str(part)) for part in error.schema_path[:-1])
        node = resolve(self._schema, f"#/{pointer}" if pointer else "#")
        known = sorted(node.get("properties", {})) if isinstance(node, Mapping) else []
        return f"; known are {', '.join(f'`{name}`' for name in known[:MAX_ISSUES])}" if known else ""


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """The schema, compiled. Raises `BadSchema`. Nothing is ever fetched: a reference to something
    outside the schema is an error.
    """
    try:
        compiled = jsonschema_rs.Draft202012Validator(
            dict(schema),
            validate_formats=True,
            ignore_unknown_formats=False,
            offline=True,
            mask="***",
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        raise BadSchema(_why_not(error)) from error
    except (jsonschema_rs.ReferencingError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadSchema("the schema is not JSON, or refers to something outside of itself") from error
    return Validator(schema, compiled)


def _is_verdict(error: BaseException) -> bool:
    """False, "not valid", for what the library raises on a value that it cannot take, its panics (which
    are no `Exception`) included. Raises everything else again.
    """
    if isinstance(error, ValueError) or type(error).__name__ == "PanicException":
        return False
    raise error


def _why_not(error: jsonschema_rs.ValidationError) -> str:
    where = "/".join(str(part) for part in error.instance_path)
    if isinstance(error.kind, _Kind.Referencing):
        return f"a reference in it cannot be resolved inside the schema: {_first_line(error)}"
    if where:
        return f"at {where}: {_first_line(error)}"
    return _first_line(error)


def _first_line(error: jsonschema_rs.ValidationError) -> str:
    return str(error.message).partition("\n")[0].replace("***", "this")


class _NullCheck:
    """Whether a subschema takes null; every subschema is compiled, and only when the first is asked about."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._map: jsonschema_rs.ValidatorMap | None = None

    def __call__(self, pointer: str) -> bool:
        if self._map is None:
            self._map = jsonschema_rs.validator_map_for(
                dict(self._schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
            )
        compiled = self._map.get(pointer)
        return compiled is None or compiled.is_valid(None)


def _issue(path: str, rule: str, predicate: str) -> ArgumentIssue:
    subject = f"`{printable(path.rpartition('/')[2])}`" if path else "The object"
    return ArgumentIssue(path=printable(path), rule=rule, message=f"{subject} {predicate}.")


_TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _sentence(kind: jsonschema_rs.ValidationErrorKind) -> str:  # noqa: PLR0911 - one line per family of rules
    """What is wrong, from the schema's side alone: the agent's value is not repeated."""
    match kind:
        case _Kind.Type():
            return f"must be {' or '.join(_TYPE_WORDS.get(name, name) for name in kind.types)}"
        case _Kind.Enum():
            return f"must be one of {_listed(kind.options)}"
        case _Kind.Constant():
            return f"must be {_listed([kind.expected_value])}"
        case _Kind.Format():
            return f"must be a valid {kind.format}"
        case _Kind.Pattern():
            return f"must match the pattern {printable(kind.pattern)}"
        case _Kind.FalseSchema():
            return "must be left out"
        case _:
            return _LIMITS.get(kind.name, "breaks the rule `{rule}`").format(
                limit=getattr(kind, "limit", getattr(kind, "multiple_of", "")), rule=kind.name
            )


_LIMITS = {
    "minLength": "must have at least {limit} characters",
    "maxLength": "must have at most {limit} characters",
    "minItems": "must have at least {limit} items",
    "maxItems": "must have at most {limit} items",
    "minProperties": "must have at least {limit} properties",
    "maxProperties": "must have at most {limit} properties",
    "minimum": "must be at least {limit}",
    "maximum": "must be at most {limit}",
    "exclusiveMinimum": "must be more than {limit}",
    "exclusiveMaximum": "must be less than {limit}",
    "multipleOf": "must be a multiple of {limit}",
    "uniqueItems": "must not hold the same item twice",
    "contains": "lacks an item that it must hold",
    "anyOf": "fits none of the forms that it may have",
    "oneOf": "must fit exactly one of the forms that it may have",
    "not": "has a form that it must not have",
    "dependentRequired": "lacks another property that it needs",
}


def _listed(options: list[Any]) -> str:
    shown = [orjson.dumps(option).decode() for option in options[:10]]
    return printable(", ".join([*shown, "…"] if len(options) > 10 else shown))
