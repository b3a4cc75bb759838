"""A browser for all tests of the report."""

import pytest

from tests.browser import start_browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()
