"""ONNX models for tests, written field by field (onnx.proto): tensors of float32 with a free batch, nodes without attributes."""


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    """Bytes behind their length."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, shape):
    """@param shape  names of free dimensions, sizes of others"""
    dims = b"".join(text(1, text(2, size) if isinstance(size, str) else number(1, size)) for size in ("batch", *shape))
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, dims)))


def model(inputs, outputs, nodes):
    """@param inputs, outputs  {name: shape}; @param nodes  [(operator, inputs, output)]"""
    graph = b"".join(text(1, b"".join(text(1, i) for i in takes) + text(2, gives) + text(4, operator)) for operator, takes, gives in nodes)
    graph += text(2, "test") + b"".join(text(11, tensor(*one)) for one in inputs.items())
    graph += b"".join(text(12, tensor(*one)) for one in outputs.items())
    return number(1, 8) + text(7, graph) + text(8, text(1, "") + number(2, 17))
