"""Models of many kinds for the inference server's benchmarks, with random weights: 50 of them. Needs numpy and onnx (PyPI, below 1.18)."""
import numpy
from onnx import TensorProto, helper, numpy_helper, save

RNG = numpy.random.default_rng(1)


class Graph:
    """Nodes and constants in the making; what a method gives is the name of its result."""

    def __init__(self, opset=17):
        self.nodes, self.constants, self.inputs, self.outputs, self.opset, self.count = [], [], [], [], opset, 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def weights(self, *shape, scale=None, kind=numpy.float32):
        values = RNG.standard_normal(shape) * (scale if scale is not None else (2 / numpy.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.01)
        return self.constant(values.astype(kind))

    def constant(self, values):
        name = self.name()
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def integers(self, *values):
        return self.constant(numpy.array(values, dtype=numpy.int64))

    def node(self, op, *inputs, count=1, **attributes):
        names = [self.name() for _ in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if count == 1 else names

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["batch", *shape]))
        return name

    def output(self, tensor, shape, kind=TensorProto.FLOAT):
        self.nodes.append(helper.make_node("Identity", [tensor], ["y"]))
        self.outputs.append(helper.make_tensor_value_info("y", kind, ["batch", *shape]))
        return self

    def save(self, file):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("ai.onnx.ml", 3)]
        save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(file))

    def dense(self, x, wide, to, relu=True):
        y = self.node("Gemm", x, self.weights(wide, to), self.weights(to))
        return self.node("Relu", y) if relu else y

    def conv(self, x, of, to, size=3, stride=1, group=1, relu=True):
        pad = size // 2
        y = self.node("Conv", x, self.weights(to, of // group, size, size), self.weights(to), kernel_shape=[size, size], strides=[stride] * 2,
                      pads=[pad] * 4, group=group)
        return self.node("Relu", y) if relu else y

    def norm(self, x, wide):
        if self.opset >= 17:
            return self.node("LayerNormalization", x, self.constant(numpy.ones(wide, numpy.float32)), self.weights(wide), axis=-1)
        return x

    def attention(self, x, length, wide, heads, mask=None):
        def split(to_transpose):
            y = self.node("MatMul", x, self.weights(wide, wide))
            y = self.node("Reshape", y, self.integers(0, 0, heads, wide // heads))
            return self.node("Transpose", y, perm=to_transpose)
        q, k, v = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
        scores = self.node("Mul", self.node("MatMul", q, k), self.constant(numpy.float32((wide / heads) ** -0.5)))
        if mask:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        mixed = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), self.integers(0, 0, wide))
        return self.node("MatMul", mixed, self.weights(wide, wide))

    def block(self, x, length, wide, heads, mask=None):
        x = self.norm(self.node("Add", x, self.attention(x, length, wide, heads, mask)), wide)
        h = self.node("Add", self.node("MatMul", x, self.weights(wide, 4 * wide)), self.weights(4 * wide))
        h = self.node("Mul", h, self.node("Sigmoid", h))
        h = self.node("Add", self.node("MatMul", h, self.weights(4 * wide, wide)), self.weights(wide))
        return self.norm(self.node("Add", x, h), wide)


def mlp(*widths):
    g = Graph()
    x = g.input("x", [widths[0]])
    for a, b in zip(widths, widths[1:]):
        x = g.dense(x, a, b)
    return g.output(x, [widths[-1]])


def plain_cnn(side, *channels):
    g = Graph()
    x, of = g.input("x", [3, side, side]), 3
    for to in channels:
        x, of = g.conv(x, of, to, stride=2), to
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.output(g.dense(x, of, 10, relu=False), [10])


def resnet(side, wide, blocks):
    g = Graph()
    x = g.conv(g.input("x", [3, side, side]), 3, wide, 7, 2)
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    of = wide
    for stage, count in enumerate(blocks):
        to = wide << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            y = g.conv(g.conv(x, of, to, stride=stride), to, to, relu=False)
            if stride != 1 or of != to:
                x = g.conv(x, of, to, 1, stride, relu=False)
            x, of = g.node("Relu", g.node("Add", x, y)), to
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.output(g.dense(x, of, 1000, relu=False), [1000])


def mobile(side, wide, layers):
    g = Graph()
    x, of = g.conv(g.input("x", [3, side, side]), 3, wide, stride=2), wide
    for layer in range(layers):
        to = of * 2 if layer % 2 == 0 else of
        x = g.conv(g.conv(x, of, of, stride=2 if layer % 3 == 2 else 1, group=of), of, to, 1)
        of = to
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.output(g.dense(x, of, 100, relu=False), [100])


def unet(side, wide):
    g = Graph()
    x = g.input("x", [1, side, side])
    down, of = [], 1
    for level in range(3):
        x = g.conv(x, of, wide << level)
        of = wide << level
        down.append((x, of))
        x = g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for before, to in reversed(down):
        x = g.node("ConvTranspose", x, g.weights(of, to, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
        x, of = g.conv(g.node("Concat", x, before, axis=1), 2 * to, to), to
    return g.output(g.conv(x, of, 1, 1, relu=False), [1, side, side])


def vision_transformer(side, patch, wide, layers):
    g = Graph()
    length = (side // patch) ** 2
    x = g.node("Conv", g.input("x", [3, side, side]), g.weights(wide, 3, patch, patch), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = g.node("Transpose", g.node("Reshape", x, g.integers(0, wide, length)), perm=[0, 2, 1])
    for _ in range(layers):
        x = g.block(x, length, wide, wide // 64)
    x = g.node("ReduceMean", x, axes=[1], keepdims=0)
    return g.output(g.dense(x, wide, 100, relu=False), [100])


def bert(words, wide, layers, length=None, opset=17):
    """@param length  none: free, with the inputs of a BERT"""
    g = Graph(opset)
    size = "sequence" if length is None else length
    ids = g.input("input_ids", [size], TensorProto.INT64)
    x, mask = g.node("Gather", g.weights(words, wide, scale=0.05), ids), None
    if length is None:
        mask = g.input("attention_mask", [size], TensorProto.INT64)
        types = g.input("token_type_ids", [size], TensorProto.INT64)
        x = g.node("Add", x, g.node("Gather", g.weights(2, wide, scale=0.05), types))
        off = g.node("Sub", g.constant(numpy.float32(1)), g.node("Cast", mask, to=TensorProto.FLOAT))
        mask = g.node("Mul", g.node("Unsqueeze", off, g.integers(1, 2)), g.constant(numpy.float32(-1e4)))
    x = g.norm(x, wide)
    for _ in range(layers):
        x = g.block(x, length, wide, wide // 64, mask)
    x = g.node("Gather", x, g.constant(numpy.int64(0)), axis=1)
    return g.output(g.dense(x, wide, 2, relu=False), [2])


def decoder(words, wide, layers, length):
    g = Graph()
    x = g.node("Gather", g.weights(words, wide, scale=0.05), g.input("ids", [length], TensorProto.INT64))
    mask = g.constant(numpy.triu(numpy.full((length, length), -1e4, numpy.float32), 1))
    for _ in range(layers):
        x = g.block(x, length, wide, wide // 64, mask)
    return g.output(g.node("MatMul", x, g.weights(wide, words)), [length, words])


def recurrent(op, wide, hidden, length):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    g = Graph()
    x = g.node("Transpose", g.input("x", [length, wide]), perm=[1, 0, 2])
    for of in (wide, hidden):
        y = g.node(op, x, g.weights(1, gates * hidden, of), g.weights(1, gates * hidden, hidden), hidden_size=hidden)
        x = g.node("Squeeze", y, g.integers(1))
    x = g.node("Gather", x, g.constant(numpy.int64(-1)), axis=0)
    return g.output(g.dense(x, hidden, 10, relu=False), [10])


def embeddings(tables, rows, wide):
    g = Graph()
    ids = g.input("ids", [tables], TensorProto.INT64)
    parts = [g.node("Gather", g.weights(rows, wide), g.node("Gather", ids, g.constant(numpy.int64(k)), axis=1)) for k in range(tables)]
    return g.output(g.dense(g.node("Concat", *parts, axis=1), tables * wide, 1), [1])


def trees(count, depth, features=32):
    g = Graph()
    x = g.input("x", [features])
    inner, leaves = (1 << depth) - 1, 1 << depth
    nodes = {"nodes_treeids": [], "nodes_nodeids": [], "nodes_featureids": [], "nodes_values": [], "nodes_modes": [], "nodes_truenodeids": [],
             "nodes_falsenodeids": [], "target_treeids": [], "target_nodeids": [], "target_ids": [], "target_weights": []}
    for tree in range(count):
        for n in range(inner + leaves):
            branch = n < inner
            nodes["nodes_treeids"].append(tree)
            nodes["nodes_nodeids"].append(n)
            nodes["nodes_featureids"].append(int(RNG.integers(features)) if branch else 0)
            nodes["nodes_values"].append(float(RNG.standard_normal()) if branch else 0.0)
            nodes["nodes_modes"].append("BRANCH_LEQ" if branch else "LEAF")
            nodes["nodes_truenodeids"].append(2 * n + 1 if branch else 0)
            nodes["nodes_falsenodeids"].append(2 * n + 2 if branch else 0)
            if not branch:
                nodes["target_treeids"].append(tree)
                nodes["target_nodeids"].append(n)
                nodes["target_ids"].append(0)
                nodes["target_weights"].append(float(RNG.standard_normal()))
    return g.output(g.node("TreeEnsembleRegressor", x, domain="ai.onnx.ml", n_targets=1, **nodes), [1])


def texts(entries):
    g = Graph()
    ids = g.node("LabelEncoder", g.input("text", [4], TensorProto.STRING), domain="ai.onnx.ml", keys_strings=[f"{k:016d}" for k in range(entries)],
                 values_int64s=list(range(entries)), default_int64=0)
    x = g.node("ReduceSum", g.node("Gather", g.weights(entries, 32), ids), g.integers(1), keepdims=0)
    return g.output(g.dense(x, 32, 4, relu=False), [4])


def half(wide, layers):
    g = Graph()
    x = g.node("Cast", g.input("x", [wide]), to=TensorProto.FLOAT16)
    for _ in range(layers):
        x = g.node("Relu", g.node("MatMul", x, g.weights(wide, wide, kind=numpy.float16)))
    return g.output(g.node("Cast", x, to=TensorProto.FLOAT), [wide])


def rounded(wide, layers):
    g = Graph()
    x = g.input("x", [wide])
    for _ in range(layers):
        q, scale, zero = g.node("DynamicQuantizeLinear", x, count=3)
        w = g.constant(RNG.integers(-127, 127, (wide, wide)).astype(numpy.int8))
        y = g.node("Cast", g.node("MatMulInteger", q, w, zero), to=TensorProto.FLOAT)
        x = g.node("Relu", g.node("Mul", y, g.node("Mul", scale, g.constant(numpy.float32(0.001)))))
    return g.output(x, [wide])


def waves(length, wide, layers):
    g = Graph()
    x, of = g.input("x", [1, length]), 1
    for _ in range(layers):
        x = g.node("Relu", g.node("Conv", x, g.weights(wide, of, 9), kernel_shape=[9], strides=[2], pads=[4, 4]))
        of = wide
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.output(g.dense(x, of, 10, relu=False), [10])


MODELS = {
    "MLP 64": lambda: mlp(64, 64, 8), "MLP 256": lambda: mlp(256, 256, 64), "MLP 512": lambda: mlp(512, 1024, 1024, 128),
    "MLP 1024": lambda: mlp(1024, 2048, 1024, 256), "MLP 2048": lambda: mlp(2048, 2048, 2048, 2048), "MLP deep": lambda: mlp(*[512] * 30),
    "MLP 4096": lambda: mlp(4096, 4096, 4096, 1000), "MLP to many": lambda: mlp(128, 256, 50_000),
    "CNN small": lambda: plain_cnn(64, 32, 64, 128), "CNN 224": lambda: plain_cnn(224, 32, 64, 128, 256), "CNN wide": lambda: plain_cnn(64, 128, 256, 512, 512),
    "CNN few": lambda: plain_cnn(32, 8, 16), "VGG-like": lambda: plain_cnn(128, 64, 128, 256, 512, 512, 512),
    "ResNet 8": lambda: resnet(64, 32, [1, 1, 1]), "ResNet 18": lambda: resnet(128, 64, [2, 2, 2, 2]), "ResNet 34": lambda: resnet(64, 64, [3, 4, 6, 3]),
    "ResNet narrow": lambda: resnet(224, 16, [2, 2, 2, 2]),
    "MobileNet S": lambda: mobile(96, 16, 6), "MobileNet M": lambda: mobile(128, 32, 8), "MobileNet L": lambda: mobile(224, 32, 9),
    "U-Net 64": lambda: unet(64, 16), "U-Net 128": lambda: unet(128, 16), "U-Net wide": lambda: unet(64, 48),
    "ViT 2 layers": lambda: vision_transformer(64, 8, 192, 2), "ViT 6 layers": lambda: vision_transformer(128, 16, 384, 6),
    "BERT tiny, 64": lambda: bert(30_522, 128, 2, 64), "BERT mini, 64": lambda: bert(30_522, 256, 4, 64), "BERT small, 128": lambda: bert(30_522, 512, 4, 128),
    "BERT opset 20": lambda: bert(10_000, 256, 4, 64, 20), "BERT tiny, free": lambda: bert(30_522, 128, 2), "BERT mini, free": lambda: bert(30_522, 256, 4),
    "BERT no words": lambda: bert(100, 256, 6, 32), "BERT many words": lambda: bert(120_000, 128, 1, 16),
    "GPT-like 64": lambda: decoder(5_000, 256, 4, 64), "GPT-like 128": lambda: decoder(20_000, 256, 4, 128), "GPT-like opset 17, 32": lambda: decoder(1_000, 512, 6, 32),
    "LSTM": lambda: recurrent("LSTM", 64, 256, 50), "LSTM wide": lambda: recurrent("LSTM", 256, 1024, 20), "GRU": lambda: recurrent("GRU", 64, 256, 50),
    "RNN": lambda: recurrent("RNN", 32, 512, 100),
    "embeddings 8": lambda: embeddings(8, 100_000, 16), "embeddings 26": lambda: embeddings(26, 20_000, 32),
    "trees 100": lambda: trees(100, 6), "trees 500": lambda: trees(500, 8), "texts 5,000": lambda: texts(5_000), "texts 100,000": lambda: texts(100_000),
    "FP16": lambda: half(1024, 6), "INT8": lambda: rounded(1024, 8), "waves": lambda: waves(16_000, 64, 4), "waves wide": lambda: waves(48_000, 128, 5),
}
