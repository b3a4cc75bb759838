"""Fixtures: models in files, and a client of a service with them."""

import socket
import threading
import time
import warnings
from dataclasses import replace

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

import uvicorn

import plackett as pk
from plackett.apps.access.server import open_port, server_config
from plackett.apps.serve.app import create_app
from plackett.apps.serve.log import prepare_log
from plackett.apps.serve.models import ModelSpec, ModelTable, load_model
from plackett.apps.serve.service import Service
from plackett.apps.serve.settings import ServingSettings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # which of two HTTP clients is used is of no interest here
    from starlette.testclient import TestClient

HOME = "http://127.0.0.1:8766"
DATA = pk.datasets.make_web_like(12, 10, 4, random_state=0)


@pytest.fixture(scope="session")
def rankers():
    """Rankers by name; the trees take missing values, the others do not."""
    return {
        "linear": pk.LinearRanker().fit(DATA),
        "other": pk.LinearRanker(l2=10.0, normalize="query-zscore").fit(DATA),
        "trees": pk.TreeRanker(n_rounds=5).fit(DATA),
    }


@pytest.fixture
def folder(tmp_path, rankers):
    """A folder with the models as files."""
    for name, ranker in rankers.items():
        ranker.save(tmp_path / f"{name}.plackett")
    return tmp_path


def service_of(folder, *words, **settings):
    """Return a service; ``words`` are models as the command takes them, with files in the folder."""
    specs = [ModelSpec.parse(word) for word in words]
    models = [load_model(spec._replace(path=str(folder / spec.path))) for spec in specs]
    return Service(ModelTable(models), ServingSettings(**settings))


def open_log(service):
    """Open the log of a service as a worker does."""
    prepare_log(service.settings.log)
    service.open_log()


def count_of(service, name, **labels):
    """Return the value of a counter."""
    return service.metrics.registry.get_sample_value(f"plackett_{name}_total", labels) or 0


def client_of(service):
    return TestClient(create_app(service), base_url=HOME, raise_server_exceptions=False)


@pytest.fixture
def client(folder):
    with client_of(service_of(folder, "linear.plackett", "other=other.plackett", "trees@v1=trees.plackett")) as made:
        yield made


class Served:
    """A service behind a port of this process, which looks at its files all the time."""

    def __init__(self, service):
        self.service = service
        self.listener: socket.socket = open_port("127.0.0.1", 0)
        self.port = self.listener.getsockname()[1]
        service.settings = replace(service.settings, poll=0.02)
        self._server = uvicorn.Server(server_config(create_app(service), log_config=None, timeout_graceful_shutdown=6))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.listener]})

    def __enter__(self):
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def stop(self):
        self._server.should_exit = True
        self._thread.join()

    def __exit__(self, *error):
        self.stop()
        self.listener.close()
