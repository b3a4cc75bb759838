"""Schemathesis makes requests of the OpenAPI description, right and wrong ones: none may end in a 5xx."""

import warnings

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from plackett.apps.workbench.app import SUBJECTS, create_app
from plackett.apps.workbench.settings import Settings
from plackett.apps.workbench.store import Store
from tests.apps.workbench.serving import TOKEN, small_collection

WITHOUT_VALUES = [  # so that none can be wrong
    *(f"GET {name}" for name in ("health", "session", "collection", "rankers", "annotators")),
    *(f"GET {name}" for name in ("query-sets", "snapshots")),
]
RIGHT, WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
OPERATIONS = [
    (route.path, method, mode)
    for router in SUBJECTS
    for route in router.routes
    for method in sorted(route.methods)
    for mode in (RIGHT, WRONG)
    if mode is RIGHT or f"{method} {route.path.rpartition('/')[2]}" not in WITHOUT_VALUES
]
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]
KEY = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("fuzz") / "store.db") as store:
        app = create_app(small_collection(), store, Settings(token=TOKEN))
        close = app.state.workbench.close
        # the server is started and stopped for each operation, and a closed workbench refuses jobs
        app.state.workbench.warm_up = app.state.workbench.close = lambda: None
        yield schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=KEY)
        close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_no_request_ends_in_an_error_of_ours(described, path, method, mode):
    @settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=described[path][method].as_strategy(generation_mode=mode))
    def answers(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = case.call(headers=KEY)
        case.validate_response(answer, checks=CHECKS)

    answers()
