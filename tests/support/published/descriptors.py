"""Generated descriptors, spelled as the lines of a .proto file so that tests can list them literally."""

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, ServiceDescriptor

SCALARS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def type_of(field: FieldDescriptor) -> str:
    """The type as a .proto file names it, without its package."""
    if field.enum_type is not None:
        return str(field.enum_type.name)
    if field.message_type is None:
        return SCALARS[field.type]
    if field.message_type.GetOptions().map_entry:
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return f"map<{type_of(key)}, {type_of(value)}>"
    return str(field.message_type.name)


def line_of(field: FieldDescriptor) -> str:
    """For example `repeated string allowed_tools = 4`."""
    spelled = type_of(field)
    repeated = "repeated " if field.is_repeated and not spelled.startswith("map<") else ""
    return f"{repeated}{spelled} {field.name} = {field.number}"


def fields_of(message: Descriptor) -> set[str]:
    """Every field of a message, as lines."""
    return {line_of(field) for field in message.fields}


def values_of(enum: EnumDescriptor) -> set[str]:
    """Every value of an enum, for example `ALLOW_ONCE = 1`."""
    return {f"{value.name} = {value.number}" for value in enum.values}


def calls_of(service: ServiceDescriptor) -> set[str]:
    """Every call of a service, for example `Converse(stream AgentRequest) -> stream AgentEvent`."""
    return {
        f"{method.name}({'stream ' if method.client_streaming else ''}{method.input_type.name})"
        f" -> {'stream ' if method.server_streaming else ''}{method.output_type.name}"
        for method in service.methods
    }


def lines(text: str) -> set[str]:
    """The lines of a literal table."""
    return {line.strip() for line in text.splitlines() if line.strip()}
