"""What is pinned of a method: its file descriptors without whatever does not change what is sent or read.

Names, numbers and types of everything that its request and its response can hold stay. Comments, other methods,
other types, and options that only code generators or other tools read do not: a service that gains a method has not
changed any other.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from adapters.grpc_upstream.files import BadDescriptors, Files, MethodName

_MAX_FILES = 500
_MAX_TYPES = 2000


def closure_of(files: Files, name: MethodName) -> bytes:
    """A FileDescriptorSet of the method and everything that it can send and return, always the same bytes.

    Raises `BadDescriptors` when the method or a type of it is not declared.
    """
    file, method = files.method(name)
    kept = _reachable(files, (method.input_type, method.output_type))
    needs = _dependencies(files, kept)
    needs.setdefault(file, set()).update(files.place(each).file for each in (method.input_type, method.output_type))
    chosen = FileDescriptorSet()
    for each in _in_order(needs):
        pruned = _file(files.by_name[each], kept, sorted(needs[each] - {each}))
        if each == file:
            pruned.service.append(_service(name, method))
        chosen.file.append(pruned)
    return chosen.SerializeToString(deterministic=True)


def digest_of(data: bytes) -> str:
    """`sha256:` and lower-case hex."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _reachable(files: Files, references: Iterable[str]) -> dict[str, str]:
    """The file of every type that these hold, by full name."""
    kept: dict[str, str] = {}
    waiting = list(references)
    while waiting:
        reference = waiting.pop()
        if reference[1:] in kept:
            continue
        place = files.place(reference)
        kept[reference[1:]] = place.file
        if len(kept) > _MAX_TYPES:
            raise BadDescriptors(f"the method needs more than {_MAX_TYPES} types")
        if isinstance(place.type, DescriptorProto):
            waiting += _references(place.type)
    return kept


def _references(message: DescriptorProto) -> Iterator[str]:
    return (field.type_name for field in message.field if field.type_name)


def _dependencies(files: Files, kept: Mapping[str, str]) -> dict[str, set[str]]:
    """By each file with something that is kept: the files whose types it needs, itself perhaps among them."""
    needs: dict[str, set[str]] = {}
    for name, file in kept.items():
        one = files.place(f".{name}").type
        found = _references(one) if isinstance(one, DescriptorProto) else ()
        needs.setdefault(file, set()).update(kept[reference[1:]] for reference in found)
    return needs


def _in_order(needs: Mapping[str, set[str]]) -> list[str]:
    """Every file after those that it needs. Raises `BadDescriptors` when two need each other."""
    if len(needs) > _MAX_FILES:
        raise BadDescriptors(f"the types are spread over more than {_MAX_FILES} files")
    ordered: list[str] = []
    under: set[str] = set()

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in under:
            raise BadDescriptors("the files import one another in a circle")
        under.add(name)
        for needed in sorted(needs[name] - {name}):
            visit(needed)
        ordered.append(name)

    for name in sorted(needs):
        visit(name)
    return ordered


def _file(file: FileDescriptorProto, kept: Mapping[str, str], needed: list[str]) -> FileDescriptorProto:
    pruned = FileDescriptorProto(name=file.name, dependency=needed)
    if file.package:
        pruned.package = file.package
    if file.syntax:  # proto2 says none
        pruned.syntax = file.syntax
    if file.HasField("edition"):
        pruned.edition = file.edition
    if file.options.HasField("features"):
        _keep_features(file.options.features, pruned.options.features)
    prefix = f"{file.package}." if file.package else ""
    pruned.message_type.extend(_messages(file.message_type, prefix, kept))
    pruned.enum_type.extend(_enums(file.enum_type, prefix, kept))
    return pruned


def _messages(messages: Iterable[DescriptorProto], prefix: str, kept: Mapping[str, str]) -> Iterator[DescriptorProto]:
    """Those that are kept, and the empty shells of those that hold one."""
    for message in messages:
        full_name = prefix + message.name
        nested = list(_messages(message.nested_type, f"{full_name}.", kept))
        enums = list(_enums(message.enum_type, f"{full_name}.", kept))
        if full_name in kept:
            yield _message(message, nested, enums)
        elif nested or enums:
            yield _shell(message, nested, enums)


def _message(
    message: DescriptorProto, nested: list[DescriptorProto], enums: list[EnumDescriptorProto]
) -> DescriptorProto:
    pruned = _shell(message, nested, enums)
    pruned.field.extend(map(_field, message.field))
    for oneof in message.oneof_decl:
        pruned.oneof_decl.add(name=oneof.name)
    for name in ("map_entry", "message_set_wire_format"):
        if getattr(message.options, name):
            setattr(pruned.options, name, True)
    return pruned


def _shell(
    message: DescriptorProto, nested: list[DescriptorProto], enums: list[EnumDescriptorProto]
) -> DescriptorProto:
    """A message without its fields. What lies within has an edition's features from it."""
    pruned = DescriptorProto(name=message.name, nested_type=nested, enum_type=enums)
    if message.options.HasField("features"):
        _keep_features(message.options.features, pruned.options.features)
    return pruned


def _field(field: FieldDescriptorProto) -> FieldDescriptorProto:
    pruned = FieldDescriptorProto()
    pruned.CopyFrom(field)
    pruned.ClearField("options")
    pruned.ClearField("json_name")  # some servers leave it out; nobody here reads it
    pruned.DiscardUnknownFields()
    if field.options.HasField("packed"):
        pruned.options.packed = field.options.packed
    if field.options.HasField("features"):
        _keep_features(field.options.features, pruned.options.features)
    return pruned


def _enums(enums: Iterable[EnumDescriptorProto], prefix: str, kept: Mapping[str, str]) -> Iterator[EnumDescriptorProto]:
    for enum in enums:
        if prefix + enum.name not in kept:
            continue
        pruned = EnumDescriptorProto(name=enum.name)
        for value in enum.value:
            pruned.value.add(name=value.name, number=value.number)
        if enum.options.allow_alias:
            pruned.options.allow_alias = True
        if enum.options.HasField("features"):
            _keep_features(enum.options.features, pruned.options.features)
        yield pruned


def _service(name: MethodName, method: MethodDescriptorProto) -> ServiceDescriptorProto:
    pruned = ServiceDescriptorProto(name=name.service.rpartition(".")[2])
    kept = pruned.method.add(name=method.name, input_type=method.input_type, output_type=method.output_type)
    if method.client_streaming:
        kept.client_streaming = True
    if method.server_streaming:
        kept.server_streaming = True
    if method.options.HasField("idempotency_level"):
        kept.options.idempotency_level = method.options.idempotency_level
    return pruned


def _keep_features(found: FeatureSet, pruned: FeatureSet) -> None:
    """What an edition's features say of the wire; those of languages do not."""
    pruned.SetInParent()
    for field, value in found.ListFields():
        if not field.is_extension:
            setattr(pruned, field.name, value)
