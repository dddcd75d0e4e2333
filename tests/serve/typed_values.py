"""Values of every type for Triton's own clients; imported where those are."""
import numpy
from tritonclient.utils import triton_to_np_dtype


def typed_values(datatype, shape):
    """An array as the client wants it: the type's least and largest value, others at random; floats that 16 bits hold exactly."""
    if datatype == "BYTES":
        texts = ["", "a", "ä😀", "c" * 1000]
        return numpy.array([texts[n % 4].encode() for n in range(numpy.prod(shape))], dtype=object).reshape(shape)
    dtype, random = numpy.dtype(triton_to_np_dtype(datatype)), numpy.random.default_rng(7)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return (random.integers(-64, 64, shape) / 8).astype(dtype)
    limits = numpy.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values.flat[:2] = limits.min, limits.max
    return values
