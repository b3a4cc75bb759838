"""The scoring service with the scores of another library, for ``bench_serving_load``.

    python -m benchmarks.serving_peers SCORES MODEL WORKERS

SCORES is ``plackett``, ``lightgbm`` or ``onnxruntime``. All three are the application of ``plackett serve`` and differ
in one call, from an array of rows to its scores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import plackett as pk
from plackett.apps.access.server import open_ports
from plackett.apps.serve.models import ModelSpec, ModelTable, load_model
from plackett.apps.serve.server import run_service
from plackett.apps.serve.service import Service
from plackett.apps.serve.settings import ServingSettings

Score = Callable[[np.ndarray, object], np.ndarray]


class PeerScores:
    """The scores of another library, which each worker loads for itself."""

    def __init__(self, name: str, path: str):
        self._about = name, path
        self._score = SCORES[name](path)

    def __call__(self, rows: np.ndarray, indptr: object) -> np.ndarray:
        return self._score(rows, indptr)

    def __reduce__(self) -> tuple:
        return PeerScores, self._about


def lightgbm_scores(path: str) -> Score:
    booster = pk.load(path).to_lightgbm()
    return lambda rows, _: booster.predict(rows, num_threads=1)


def onnxruntime_scores(path: str) -> Score:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content = pk.export(pk.load(path), "onnx")
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda rows, _: session.run(None, {"features": rows.astype(np.float32)})[0].ravel().astype(np.float64)


SCORES: dict[str, Callable[[str], Score]] = {"lightgbm": lightgbm_scores, "onnxruntime": onnxruntime_scores}


def main() -> None:
    name, path, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    pk.set_n_threads(1)
    model = load_model(ModelSpec(name, None, path))
    if name in SCORES:
        model = replace(model, scorer=replace(model.scorer, model=PeerScores(name, path)))
    listeners = open_ports("127.0.0.1", 0, workers)
    print(f"port {listeners[0].getsockname()[1]}", flush=True)
    run_service(Service(ModelTable([model]), ServingSettings(poll=0.0, workers=workers)), listeners)


if __name__ == "__main__":
    main()
