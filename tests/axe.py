"""Accessibility of pages by axe-core, which ``npm install --prefix tests`` installs. Tests are skipped without it."""

from pathlib import Path

import pytest

from tests.browser import media, screen

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
# every rule of WCAG 2.2 up to AA, and axe's best practices
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")}: ${node.html.slice(0, 160)}`))),
  (error) => done([`axe failed: ${error.message}`]),
);
"""


def violations(browser) -> list[str]:
    """Return what axe-core finds wrong with the page that a browser shows, one line for each element."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm install --prefix tests)")
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(AXE.read_text(encoding="utf-8"))
    return browser.execute_async_script(RUN)


def violations_everywhere(browser) -> list[str]:
    """Return the violations of the page on a wide screen and on a phone, in light and in dark colours."""
    found = []
    for width, height in ((1200, 900), (320, 700)):
        for scheme in ("light", "dark"):
            screen(browser, width, height)
            media(browser, "screen", scheme, "reduce")  # colours that fade have no contrast yet
            found += [f"{width} px, {scheme}: {line}" for line in violations(browser)]
    return found
