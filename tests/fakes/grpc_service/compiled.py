"""The `.proto` files of the services, compiled."""

import functools
import tempfile
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

PROTO = Path(__file__).parent / "proto"
CUSTOMERS = "acme/customers/v1/customers.proto"
KINDS = "acme/kinds/v1/kinds.proto"
OLD = "acme/kinds/v1/old.proto"


@functools.cache
def descriptor_set(*files: str) -> bytes:
    """What `protoc` writes of these files of `proto/`, with all that they import and every comment."""
    with tempfile.TemporaryDirectory() as folder:
        return compiled(PROTO, Path(folder) / "set.bin", *files)


def compiled(folder: Path, out: Path, *files: str) -> bytes:
    """The same of files in another folder, written to `out`."""
    own = str(Path(protoc.__file__).parent / "_proto")
    flags = ["--include_imports", "--include_source_info", f"--descriptor_set_out={out}"]
    assert protoc.main(["protoc", f"-I{folder}", f"-I{own}", *flags, *files]) == 0
    return out.read_bytes()


def pool_of(data: bytes) -> DescriptorPool:
    """A pool of its own with these files."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@functools.cache
def message(full_name: str, *files: str) -> type[Message]:
    """The class of a message that these files declare."""
    return GetMessageClass(pool_of(descriptor_set(*files)).FindMessageTypeByName(full_name))
