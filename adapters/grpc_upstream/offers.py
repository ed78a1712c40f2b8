"""What a service offers, as somebody who makes tools of it wants to see it."""

import base64
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from google.protobuf.descriptor_pb2 import MethodDescriptorProto, MethodOptions

from adapters.base import SideEffect
from adapters.grpc_upstream.closure import closure_of, digest_of
from adapters.grpc_upstream.files import BadDescriptors, Files, MethodName
from adapters.grpc_upstream.methods import method_of
from adapters.grpc_upstream.schemas import input_schema, output_schema
from adapters.grpc_upstream.shapes import shape_of
from adapters.recipes import Offer

UNARY = "unary"
_OF_THE_PROTOCOL = ("grpc.reflection.", "grpc.health.", "grpc.channelz.")
_MAX_METHODS = 1000
_MAX_DESCRIPTION = 2000
_READS = re.compile(r"(?:BatchGet|Count|Describe|Fetch|Find|Get|List|Lookup|Query|Read|Search)(?![a-z])")
_SENDS = re.compile(r"(?:Email|Notify|Publish|Send)(?![a-z])")
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_SERVICE_IN_FILE, _METHOD_IN_SERVICE = 6, 2


def offers_of(descriptor_set: bytes) -> Sequence[Offer]:
    """An offer for each method that a serialised FileDescriptorSet declares, by name.

    Make one with `protoc --include_imports --descriptor_set_out=FILE`; comments become descriptions when it has
    `--include_source_info` too. Raises ValueError with a sentence when it cannot be read.
    """
    files = Files.of_set(descriptor_set)
    return offers_in(files, sorted(files.services))


def offers_in(files: Files, services: Sequence[str]) -> Sequence[Offer]:
    """The methods of these services, by name. Raises `BadDescriptors` when there are too many."""
    own = {name for name in services if name in files.services and not is_of_the_protocol(name)}
    if sum(len(files.services[name][1].method) for name in own) > _MAX_METHODS:
        raise BadDescriptors(f"there are more than {_MAX_METHODS} methods")
    return sorted((offer for name in own for offer in _offers(files, name)), key=lambda offer: offer.name)


def is_of_the_protocol(service: str) -> bool:
    """Whether the service is there for every gRPC server, and no capability of this one."""
    return service.startswith(_OF_THE_PROTOCOL)


def _offers(files: Files, service: str) -> Iterator[Offer]:
    file, declared = files.services[service]
    comments = _comments(files, file, declared.name)
    for index, method in enumerate(declared.method):
        yield _offer(files, f"{service}/{method.name}", method, comments.get(index, ""))


def _offer(files: Files, text: str, declared: MethodDescriptorProto, description: str) -> Offer:
    offer = partial(Offer, name=text, operation=UNARY, side_effect=_side_effect(declared), description=description)
    data = b""
    try:
        name = MethodName.of(text)
        data = closure_of(files, name)
        method = method_of(name, data)
    except ValueError as problem:
        problems = (f"{text}: {problem}.",)
        return offer(digest=digest_of(data), options=_options(text, data), input_schema=_NOTHING, problems=problems)
    return offer(
        digest=method.digest,
        options=_options(text, data),
        input_schema=input_schema(shape_of(method.request)),
        output_schema=output_schema(shape_of(method.response)),
    )


def _options(method: str, data: bytes) -> dict[str, str]:
    return {"method": method, "descriptors": base64.b64encode(data).decode(), "pin": digest_of(data)}


def _side_effect(method: MethodDescriptorProto) -> SideEffect:
    if method.options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS or _READS.match(method.name):
        return SideEffect.READ
    return SideEffect.SEND if _SENDS.match(method.name) else SideEffect.WRITE


def _comments(files: Files, file: str, service: str) -> dict[int, str]:
    """What is written above each method of a service, by its place in it."""
    declared = files.by_name[file]
    places = [one.name for one in declared.service]
    above = (_SERVICE_IN_FILE, places.index(service), _METHOD_IN_SERVICE)
    return {
        location.path[3]: " ".join(location.leading_comments.split())[:_MAX_DESCRIPTION]
        for location in declared.source_code_info.location
        if len(location.path) == 4 and tuple(location.path[:3]) == above
    }
