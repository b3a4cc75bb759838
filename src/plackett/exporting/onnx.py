"""ONNX: a graph from an array of features, one row per document, to one score per row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett import __version__
from plackett._arrays import part_of_place
from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.exporting.float32 import check_single, nodes_in_single
from plackett.exporting.forms import AnyForm, LinearForm, NetForm, TreeForm
from plackett.exporting.inputs import Inputs
from plackett.exporting.nodes import LEAF, Nodes

OPSET = 13
IR_VERSION = 7  # the oldest that the opset allows, for old runtimes
ML_OPSET = {"float32": 1, "float64": 5}  # the oldest of "ai.onnx.ml" in which scores are of that precision
DTYPES = ("float32", "float64")


def write_linear(form: LinearForm, *, name: str, dtype: str) -> bytes:
    """Return a model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    if dtype == "float32":
        check_single(form, "onnx with dtype='float32'")
    graph = _Graph(form, dtype)
    # a matrix of one column: onnxruntime does not multiply rows by a vector
    graph.add("MatMul", "column", weights=form.weights.astype(dtype)[:, np.newaxis])
    graph.add("Squeeze", "weighted", axes=np.array([1]))
    graph.add("Add", "scores", intercept=np.array(form.intercept, dtype=dtype))
    return graph.model(name)


class _Graph:
    """Nodes and constants of a form; the first nodes make its columns from the features, and scale them."""

    def __init__(self, form: AnyForm, dtype: str):
        import_optional("onnx", extra="onnx", needed_for="Exporting to ONNX")
        self.form, self.dtype = form, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "features"
        if form.inputs is not None:
            self._add_inputs(form.inputs)
        if not isinstance(form, TreeForm) and form.scaling != "none":
            # first, so that large offsets are subtracted before anything is added up
            self.add("Sub", "moved", offset=form.offset.astype(dtype))
            self.add("Div", "scaled", scale=form.scale.astype(dtype))

    def constant(self, name: str, values: Any) -> str:
        """Append a constant; return its name."""
        with importing:
            from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operation: str, inputs: list[str], result: str, **attributes: Any) -> str:
        """Append a node, which is named by its result unless it has another name; return the result."""
        with importing:
            from onnx import helper

        self.nodes.append(helper.make_node(operation, inputs, [result], **{"name": result, **attributes}))
        return result

    def add(self, operation: str, result: str, *inputs: str, **values: np.ndarray) -> None:
        """Append a node; its inputs are the last result, then ``inputs``, then constants, named by their keywords."""
        constants = [self.constant(name, array) for name, array in values.items()]
        self.last = self.node(operation, [self.last, *inputs, *constants], result)

    def _add_inputs(self, inputs: Inputs) -> None:
        """Append the nodes from ``features`` to ``columns``.

        A column is ``features[:, j]`` where that is a number, else the number for missing values; a category is 1 where
        it is the code. Means are looked up as sums over the codes, of which at most one applies.
        """
        add, constant, dtype = self.node, self.constant, self.dtype
        kind = {"float32": 1, "float64": 11}[dtype]  # TensorProto.FLOAT and DOUBLE
        columns = inputs.columns
        feature = np.array([column.feature for column in columns], dtype=np.int64)
        values = add("Gather", ["features", constant("taken", feature)], "taken_values", axis=1)
        is_missing = add("IsNaN", [values], "is_missing")
        fill = np.array([[column.missing for column in columns]], dtype=dtype)
        filled = add("Where", [is_missing, constant("fill", fill), values], "filled")
        flags = add("Cast", [is_missing], "missing_flags", to=kind)
        is_flag = np.array([[column.is_missing for column in columns]])
        result = add("Where", [constant("is_flag", is_flag), flags, filled], "flagged")
        code = np.array([[-1.0 if column.category is None else column.category for column in columns]], dtype=dtype)
        is_code = add("Cast", [add("Equal", [values, constant("code", code)], "has_code")], "code_flags", to=kind)
        is_category = np.array([[column.category is not None for column in columns]])
        result = add("Where", [constant("is_category", is_category), is_code, result], "coded")
        for place, column in enumerate(columns):
            if column.means is None:
                continue
            means = np.append(column.means, column.missing)[:, np.newaxis].astype(dtype)
            taken = constant(f"one{place}", np.array([column.feature]))
            one = add("Gather", ["features", taken], f"codes{place}", axis=1)
            codes = constant(f"numbers{place}", np.arange(column.means.size, dtype=dtype)[np.newaxis])
            found = add("Cast", [add("Equal", [one, codes], f"equal{place}")], f"found{place}", to=kind)
            known = add("ReduceMax", [found], f"known{place}", axes=[1], keepdims=1)
            unknown = add("Sub", [constant(f"one_of{place}", np.array([[1.0]], dtype=dtype)), known], f"unknown{place}")
            shares = add("Concat", [found, unknown], f"shares{place}", axis=1)
            mean = add("MatMul", [shares, constant(f"means{place}", means)], f"mean{place}")
            is_here = constant(f"is_here{place}", np.arange(len(columns))[np.newaxis] == place)
            result = add("Where", [is_here, mean, result], f"encoded{place}")
        self.last = add("Identity", [result], "columns")

    def model(self, name: str, ml_opset: int | None = None) -> bytes:
        """Return the bytes of a model from ``features`` to ``scores``; ``ml_opset`` is the version of "ai.onnx.ml"."""
        with importing:
            import onnx
            from onnx import TensorProto, helper

        form, kind = self.form, TensorProto.FLOAT if self.dtype == "float32" else TensorProto.DOUBLE
        n_features, names = form.n_features, form.names
        if form.inputs is not None:
            n_features, names = form.inputs.n_features, form.inputs.names
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("features", kind, ["n", n_features])],
            [helper.make_tensor_value_info("scores", kind, ["n"])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if ml_opset is not None:
            opsets.append(helper.make_opsetid("ai.onnx.ml", ml_opset))
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="plackett",
            producer_version=__version__,
        )
        about = {"ranker": form.ranker}
        if names is not None:
            about["feature_names"] = json.dumps(names)
        if form.inputs is not None and form.inputs.categories:
            about["categories"] = json.dumps(form.inputs.categories)
        helper.set_model_props(model, about)
        onnx.checker.check_model(model)
        return model.SerializeToString()


def write_trees(form: TreeForm, *, name: str, dtype: str) -> bytes:
    """Return a model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    graph = _Graph(form, dtype)
    if dtype == "float32":
        operation, attributes = "TreeEnsembleRegressor", _regressor(nodes_in_single(form, "onnx with dtype='float32'"))
    else:
        with importing:
            from onnx import numpy_helper

        form.check_kinds("onnx")
        operation, attributes = "TreeEnsemble", _ensemble(form.nodes(), numpy_helper.from_array)
    graph.node(operation, [graph.last], "column", name="trees", domain="ai.onnx.ml", n_targets=1, **attributes)
    graph.node("Squeeze", ["column", graph.constant("axes", np.array([1]))], "scores", name="squeeze")
    return graph.model(name, ml_opset=ML_OPSET[dtype])


def _regressor(nodes: Nodes) -> dict[str, Any]:
    """Return all nodes, numbered within their trees; the value of a leaf is looked up by tree and number."""
    is_leaf = nodes.features == LEAF
    trees = part_of_place(nodes.starts)
    numbers = np.arange(is_leaf.size) - nodes.starts[trees]

    def ways(side: np.ndarray) -> list[int]:
        return np.where(is_leaf, 0, side - nodes.starts[trees]).tolist()

    return {
        "nodes_treeids": trees.tolist(),
        "nodes_nodeids": numbers.tolist(),
        "nodes_featureids": np.where(is_leaf, 0, nodes.features).tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": nodes.thresholds.tolist(),
        "nodes_missing_value_tracks_true": nodes.missing_left.astype(np.int64).tolist(),
        "nodes_truenodeids": ways(nodes.left),
        "nodes_falsenodeids": ways(nodes.right),
        "target_treeids": trees[is_leaf].tolist(),
        "target_nodeids": numbers[is_leaf].tolist(),
        "target_ids": [0] * int(is_leaf.sum()),
        "target_weights": nodes.values[is_leaf].tolist(),
    }


def _ensemble(nodes: Nodes, as_tensor: Any) -> dict[str, Any]:
    """Return splits and leaves, each numbered over all trees; a tree of one leaf gets a split with that leaf twice."""
    is_leaf = nodes.features == LEAF
    is_lone = np.zeros_like(is_leaf)
    is_lone[nodes.starts[:-1]] = is_leaf[nodes.starts[:-1]]
    is_split = ~is_leaf | is_lone
    leaf_number, split_number = np.cumsum(is_leaf) - 1, np.cumsum(is_split) - 1
    itself = np.arange(is_leaf.size)

    def ways(side: np.ndarray) -> tuple[list[int], list[int]]:
        to = np.where(is_lone, itself, side)[is_split]
        return np.where(is_leaf[to], leaf_number[to], split_number[to]).tolist(), is_leaf[to].astype(np.int64).tolist()

    (left, left_is_leaf), (right, right_is_leaf) = ways(nodes.left), ways(nodes.right)
    return {
        "tree_roots": split_number[nodes.starts[:-1]].tolist(),
        "nodes_featureids": np.where(is_lone, 0, nodes.features)[is_split].tolist(),
        "nodes_splits": as_tensor(nodes.thresholds[is_split]),
        "nodes_modes": as_tensor(np.zeros(int(is_split.sum()), dtype=np.uint8)),  # x <= threshold
        "nodes_missing_value_tracks_true": nodes.missing_left[is_split].astype(np.int64).tolist(),
        "nodes_truenodeids": left,
        "nodes_trueleafs": left_is_leaf,
        "nodes_falsenodeids": right,
        "nodes_falseleafs": right_is_leaf,
        "leaf_targetids": [0] * int(is_leaf.sum()),
        "leaf_weights": as_tensor(nodes.values[is_leaf]),
    }


def write_net(form: NetForm, *, name: str, dtype: str) -> bytes:
    """Return a model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    _check_net(form, dtype)
    graph = _Graph(form, dtype)
    add = graph.add

    def activate(place: int) -> None:
        sums, half, one = graph.last, *(np.array(number, dtype=dtype) for number in (0.5, 1.0))
        if form.net.activation == "silu":
            add("Sigmoid", f"opened{place}")
        elif form.net.activation == "gelu":  # opset 13 has no Gelu
            add("Mul", f"stretched{place}", **{f"stretch{place}": np.array(np.sqrt(0.5), dtype=dtype)})
            add("Erf", f"erf{place}")
            add("Add", f"lifted{place}", **{f"one{place}": one})
            add("Mul", f"opened{place}", **{f"half{place}": half})
        else:
            add(form.net.activation.capitalize(), f"active{place}")
            return
        add("Mul", f"active{place}", sums)

    for place, (weight, bias) in enumerate(zip(form.net.weights, form.net.biases, strict=True)):
        if place:
            activate(place)
        add("MatMul", f"weighted{place}", **{f"weight{place}": np.ascontiguousarray(weight.T, dtype=dtype)})
        add("Add", f"sums{place}", **{f"bias{place}": bias.astype(dtype)})
    add("Squeeze", "scores", axes=np.array([1]))
    return graph.model(name)


def _check_net(form: NetForm, dtype: str) -> None:
    """Reject numbers that the precision cannot hold, and operations that it lacks."""
    if dtype == "float64":
        if form.net.activation == "gelu":
            raise ValueError(
                "onnx with dtype='float64' has no gelu: runtimes compute its Erf in float32 only. Use "
                "dtype='float32', or export to json."
            )
        return
    check_single(form, "onnx with dtype='float32'", instead="json or onnx with dtype='float64'")
    largest = max(float(np.abs(array).max(initial=0.0)) for array in (*form.net.weights, *form.net.biases))
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            f"this {form.ranker} has a weight of absolute value {largest:.3g}, which float32 cannot hold. Export to "
            "json or onnx with dtype='float64'."
        )


def score(content: bytes, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return onnxruntime's scores of rows."""
    runtime = import_optional("onnxruntime", extra="onnx", needed_for="Checking an ONNX model")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # on some machines it warns about unrelated devices
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    dtype = np.float64 if entry.type == "tensor(double)" else np.float32
    with np.errstate(over="ignore"):  # what is not finite is reported later
        return session.run(["scores"], {entry.name: X.astype(dtype)})[0]
