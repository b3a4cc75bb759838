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
from plackett.apps.serve.logs import start_logging
from plackett.apps.serve.models import ModelTable, load_model
from plackett.apps.serve.server import run_service
from plackett.apps.serve.service import Service, make_metrics
from plackett.apps.serve.settings import ModelSpec, ServingSettings
from plackett.apps.serve.workers import run_workers

Score = Callable[[np.ndarray, object], np.ndarray]


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
        model = replace(model, scorer=replace(model.scorer, model=SCORES[name](path)))
    settings = ServingSettings(poll=0.0, is_logging_requests=False)
    table = ModelTable([model])
    listeners = open_ports("127.0.0.1", 0, workers)
    print(f"port {listeners[0].getsockname()[1]}", flush=True)
    start_logging()
    service = Service(table, settings, make_metrics(table, workers + 1))
    if workers == 1:
        run_service(service, listeners[0])
    else:
        run_workers(service, listeners)


if __name__ == "__main__":
    main()
