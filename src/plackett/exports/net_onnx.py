"""A net as an ONNX graph, layer by layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett.exports.net_form import NetForm
from plackett.exports.onnx_model import finished_model
from plackett.exports.single import check_single


def write_onnx_net(form: NetForm, *, name: str, dtype: str) -> bytes:
    """A model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    import_optional("onnx", extra="onnx", needed_for="Exporting to ONNX")
    from onnx import helper, numpy_helper

    _check(form, dtype)
    constants: list[Any] = []
    nodes: list[Any] = []
    last = "features"

    def add(operation: str, result: str, *inputs: str, **values: np.ndarray) -> None:
        """A node that takes what the last one gave, then ``inputs``, then constants, which are named here."""
        nonlocal last
        constants.extend(numpy_helper.from_array(array, constant) for constant, array in values.items())
        nodes.append(helper.make_node(operation, [last, *inputs, *values], [result], name=result))
        last = result

    def activate(place: int) -> None:
        sums, half, one = last, *(np.array(number, dtype=dtype) for number in (0.5, 1.0))
        if form.net.activation == "silu":
            add("Sigmoid", f"opened{place}")
        elif form.net.activation == "gelu":  # opset 13 has it in parts only
            add("Mul", f"stretched{place}", **{f"stretch{place}": np.array(np.sqrt(0.5), dtype=dtype)})
            add("Erf", f"erf{place}")
            add("Add", f"lifted{place}", **{f"one{place}": one})
            add("Mul", f"opened{place}", **{f"half{place}": half})
        else:
            add(form.net.activation.capitalize(), f"active{place}")
            return
        add("Mul", f"active{place}", sums)

    if form.scaling != "none":  # first, so that large offsets leave before anything is added up
        add("Sub", "moved", offset=form.offset.astype(dtype))
        add("Div", "scaled", scale=form.scale.astype(dtype))
    for place, (weight, bias) in enumerate(zip(form.net.weights, form.net.biases, strict=True)):
        if place:
            activate(place)
        add("MatMul", f"weighted{place}", **{f"weight{place}": np.ascontiguousarray(weight.T, dtype=dtype)})
        add("Add", f"sums{place}", **{f"bias{place}": bias.astype(dtype)})
    add("Squeeze", "scores", axes=np.array([1]))
    return finished_model(form, nodes, constants, name, dtype)


def _check(form: NetForm, dtype: str) -> None:
    """Refuse what the precision cannot hold, or has no operation for."""
    if dtype == "float64":
        if form.net.activation == "gelu":
            raise ValueError(
                "onnx with dtype='float64' has no gelu: runtimes compute its Erf in float32 only. Take "
                "dtype='float32', or export to json."
            )
        return
    scales_only = replace(form.steepest(), weights=np.ones(form.n_features))
    check_single(scales_only, "onnx with dtype='float32'", instead="json or onnx with dtype='float64'")
    largest = max(float(np.abs(array).max(initial=0.0)) for array in (*form.net.weights, *form.net.biases))
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            f"this {form.ranker} has a weight of {largest:.3g} in size, which float32 cannot hold. Export to json or "
            "onnx with dtype='float64'."
        )
