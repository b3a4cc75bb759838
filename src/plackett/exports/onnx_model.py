"""ONNX: a graph from an array of features, one row per document, to one score per row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett import __version__
from plackett._optional import import_optional
from plackett.exports.form import LinearForm
from plackett.exports.forms import Form
from plackett.exports.single import check_single

OPSET = 13
IR_VERSION = 7  # the oldest that goes with the opset, for the sake of old runtimes
DTYPES = ("float32", "float64")


def write_onnx(form: LinearForm, *, name: str, dtype: str) -> bytes:
    """A model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    import_optional("onnx", extra="onnx", needed_for="Exporting to ONNX")
    from onnx import helper, numpy_helper

    if dtype == "float32":
        check_single(form, "onnx with dtype='float32'")
    constants, nodes, last = [], [], "features"

    def add(operation: str, constant: str, values: np.ndarray, result: str) -> None:
        nonlocal last
        constants.append(numpy_helper.from_array(values, constant))
        nodes.append(helper.make_node(operation, [last, constant], [result], name=operation.lower()))
        last = result

    if form.scaling != "none":  # first, so that large offsets leave before anything is added up
        add("Sub", "offset", form.offset.astype(dtype), "moved")
        add("Div", "scale", form.scale.astype(dtype), "scaled")
    # a matrix of one column, for onnxruntime multiplies no rows by a vector
    add("MatMul", "weights", form.weights.astype(dtype)[:, np.newaxis], "column")
    add("Squeeze", "axes", np.array([1]), "weighted")
    add("Add", "intercept", np.array(form.intercept, dtype=dtype), "scores")
    return finished_model(form, nodes, constants, name, dtype)


def finished_model(
    form: Form,
    nodes: list[Any],
    constants: list[Any],
    name: str,
    dtype: str,
    ml_opset: int | None = None,
) -> bytes:
    """The bytes of a model whose nodes lead from ``features`` to ``scores``; ``ml_opset`` is that of "ai.onnx.ml"."""
    import onnx
    from onnx import TensorProto, helper

    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("features", kind, ["n", form.n_features])],
        [helper.make_tensor_value_info("scores", kind, ["n"])],
        constants,
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
    if form.names is not None:
        about["feature_names"] = json.dumps(form.names)
    helper.set_model_props(model, about)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def score_onnx(content: bytes, X: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of rows."""
    runtime = import_optional("onnxruntime", extra="onnx", needed_for="Checking an ONNX model")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # it warns of what is not ours on some machines
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    dtype = np.float64 if entry.type == "tensor(double)" else np.float32
    with np.errstate(over="ignore"):  # what is not finite is reported later
        return session.run(["scores"], {entry.name: X.astype(dtype)})[0]
