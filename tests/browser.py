"""A real browser for tests of pages: headless Chromium, through selenium. Tests are skipped if either is missing."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",  # continuous integration runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
]
# the text colour of an element, and its background colour
COLOURS = """
const element = document.querySelector(arguments[0]);
const ink = element.namespaceURI.endsWith("svg") ? getComputedStyle(element).fill : getComputedStyle(element).color;
let behind = element;
const paper = () => getComputedStyle(behind).backgroundColor;
while (paper() === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
return [ink, paper()];
"""


def start_browser(folder: Path):
    """Return a browser that keeps its profile in ``folder``; the caller must quit it."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


class ClickCost(NamedTuple):
    """Seconds from a click to the next frame, and the processor time of the page for it.

    Other programs on the machine do not change the second one.
    """

    wall: float
    processor: float


CLICK = """
const done = arguments[arguments.length - 1];
const element = document.querySelectorAll(arguments[0])[arguments[1]];
const start = performance.now();
element.click();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
"""


def click_cost(browser, selector, number=0) -> ClickCost:
    """Click on one of the elements of a selector."""
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    before = spent()
    wall = browser.execute_async_script(CLICK, selector, number) / 1000
    return ClickCost(wall, spent() - before)


def screen(browser, width, height=900):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def media(browser, kind, scheme, motion="no-preference"):
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def contrast(ink, paper):
    """Return the contrast ratio of WCAG 2: 1 for the same colour, 21 for black on white."""

    def luminance(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(ink), luminance(paper)))
    return (high + 0.05) / (low + 0.05)
