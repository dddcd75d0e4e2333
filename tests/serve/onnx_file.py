"""ONNX models for tests, written field by field (onnx.proto): tensors with a free batch, of float32 unless something else is said."""

import struct

FLOAT, INT64, STRING = 1, 7, 8  # of TensorProto.DataType


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


def tensor(name, shape, datatype=FLOAT, batch="batch"):
    """@param shape  names of free dimensions, sizes of others"""
    dims = b"".join(text(1, text(2, size) if isinstance(size, str) else number(1, size)) for size in (batch, *shape))
    return text(1, name) + text(2, text(1, number(1, datatype) + text(2, dims)))


def attribute(name, value):
    """@param value  a text, a whole number, a float, or a list of those"""
    if isinstance(value, str):
        return text(1, name) + text(4, value) + number(20, 3)
    if isinstance(value, int):
        return text(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value[0], float):
        return text(1, name) + text(7, struct.pack(f"<{len(value)}f", *value)) + number(20, 6)
    if isinstance(value[0], str):
        return text(1, name) + b"".join(text(9, one) for one in value) + number(20, 8)
    return text(1, name) + b"".join(number(8, one) for one in value) + number(20, 7)


def node(operator, takes, gives, attributes=None, domain=""):
    own = b"".join(text(5, attribute(*one)) for one in (attributes or {}).items())
    return b"".join(text(1, i) for i in takes) + text(2, gives) + text(4, operator) + own + text(7, domain)


def constant(name, shape, values):
    return b"".join(number(1, size) for size in shape) + number(2, FLOAT) + text(8, name) + text(9, struct.pack(f"<{len(values)}f", *values))


def npy(shape, values):
    """A file of NumPy's, of float32."""
    head = repr({"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}).ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values)


def model(inputs, outputs, nodes, types=None, constants=None, batch="batch"):
    """@param inputs, outputs  {name: shape}; @param nodes  [arguments of node()]; @param types  {name: type} of what is not float32; @param constants
    {name: (shape, values)} of float32"""
    def tensors(field, all_of_them):
        return b"".join(text(field, tensor(name, shape, (types or {}).get(name, FLOAT), batch)) for name, shape in all_of_them.items())
    graph = b"".join(text(1, node(*one)) for one in nodes) + text(2, "test") + tensors(11, inputs) + tensors(12, outputs)
    graph += b"".join(text(5, constant(name, *one)) for name, one in (constants or {}).items())
    opsets = ((text(1, "") + number(2, 17)), (text(1, "ai.onnx.ml") + number(2, 2)))
    return number(1, 8) + text(7, graph) + b"".join(text(8, opset) for opset in opsets)
