"""Arguments that are in no request: whoever says or approves one must not think that it goes out when it does not."""

from collections.abc import Collection, Iterator

from adapters.http_api.options import Part
from adapters.http_api.pointers import Tokens, escaped, split
from adapters.http_api.shapes import Schemas, Shapes

KEY = "unsent"


def check_sent(part: Part, shapes: Shapes, sent: Collection[Tokens]) -> None:
    """Note each argument of the input schema that is not among the `sent` and that the row does not call `unsent`.

    What is wrong with `unsent` is noted. Of a row in which something else is wrong, what it sends is not known.
    """
    unsent = list(_unsent(part, shapes, sent))
    if part.issues:
        return
    for tokens in left_out(shapes, {*sent, *unsent}):
        pointer = "".join(f"/{escaped(token)}" for token in tokens)
        message = (
            f"The argument {pointer[:200]} is in no part of the request: use it, take it out of the input schema, or "
            "name it in `unsent` when it is for policy and approvers alone."
        )
        part.problem(None, "unsent", message)


def left_out(shapes: Shapes, used: Collection[Tokens]) -> list[Tokens]:
    """Where the arguments are that none of these leads to, or through."""
    through = {one[:length] for one in used for length in range(len(one))}
    waiting: list[tuple[Tokens, Schemas]] = [] if () in used else [((), shapes.at(()))]
    found: list[Tokens] = []
    while waiting:
        at, schemas = waiting.pop()
        for name in shapes.names(schemas):
            here = (*at, name)
            if here in through and here not in used:
                waiting.append((here, shapes.below(schemas, name)))
            elif here not in used:
                found.append(here)
    return sorted(found)


def _unsent(part: Part, shapes: Shapes, sent: Collection[Tokens]) -> Iterator[Tokens]:
    pointers = part.raw.get(KEY, [])
    if not isinstance(pointers, list):
        part.problem(KEY, "list", f"`{KEY}` must be a list of JSON Pointers into the arguments.")
        return
    each = Part({}, f"{part.path}/{KEY}", part.issues)
    for index, pointer in enumerate(pointers):
        tokens = split(pointer)
        if not tokens or not shapes.at(tokens):
            message = "Must be a JSON Pointer to an argument that the input schema has, such as /reason."
            each.problem(str(index), "pointer", message)
        elif any(one[: len(tokens)] == tokens or one == tokens[: len(one)] for one in sent):
            each.problem(str(index), "sent", "This argument is in the request.")
        else:
            yield tokens
