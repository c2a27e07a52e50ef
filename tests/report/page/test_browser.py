"""Reports in a real browser: no error, no request, what is chosen is shown, and what is played arrives.

Where there is no Chromium with its driver, these tests are skipped: Debian has both as ``chromium`` and
``chromium-driver``.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.page.test_decision import STEP
from tests.report.page.test_page import EVIL
from topodesign import (
    design,
    export_wiring,
    pareto,
    plain_inventory,
    plan_wiring,
    read_inventory,
    report_page,
    schedule,
)
from topodesign.base.shipped import copy_examples
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.report.charts.decision import labels
from topodesign.report.page.page import Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs chromium and chromedriver (apt install chromium chromium-driver)"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'topodesign[dev]'")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1200,900",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser, as wide as a desk's and light; what went on in it is checked at the end."""
    chromium.get_log("browser")
    chromium.get_log("performance")
    look(chromium, "light", 1200)
    yield chromium
    assert chromium.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked
    assert all(url.startswith(("file:", "data:", "about:")) for url in asked), asked


def look(browser: Any, scheme: str, width: int) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def show(browser: Any, page: Page, folder: Path) -> None:
    path = folder / "page.html"
    page.save(path)
    browser.get(path.as_uri())


def test_a_work_package_is_searched(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "package.html"
    export_wiring(plan_wiring("circulant(12,2,3)", plain_inventory(12, 4)), "package", path)
    browser.get(path.as_uri())
    every = browser.find_elements("css selector", "#patches tbody tr")
    find(browser, "#find").send_keys("C07")
    shown = [row.text for row in every if row.is_displayed()]
    assert len(every) == 24
    assert len(shown) == 1
    assert shown[0].startswith("C07")
    browser.get(f"{path.as_uri()}#C07.b")
    assert find(browser, "tr:has(:target), tr:target").text.count("C07") == 1
    look(browser, "light", 390)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_racks_fit_a_phone_and_are_readable(browser: Any, tmp_path: Path) -> None:
    [path] = copy_examples(["inventory_pods.yaml"], tmp_path)
    export_wiring(plan_wiring("circulant(32,3,4,5)", read_inventory(path)), "package", tmp_path / "package.html")
    for width in (390, 1280):
        look(browser, "light", width)
        browser.get((tmp_path / "package.html").as_uri())
        texts = browser.find_elements("css selector", "svg.racks text")
        assert {"a1", "a5", "b1", "b5", "16 to a5, 112 m", "24 trunks to b5"} <= {one.text for one in texts}
        assert all(one.rect["height"] >= 9 and one.rect["x"] + one.rect["width"] <= width for one in texts)
        boxes = [one.rect for one in browser.find_elements("css selector", "svg.racks rect")]
        for text in (one.rect for one in texts):
            homes = [box for box in boxes if box["y"] <= text["y"] + 1 and box["x"] < text["x"]]
            homes = [
                box for box in homes if text["y"] < box["y"] + box["height"] and text["x"] < box["x"] + box["width"]
            ]
            assert all(text["x"] + text["width"] <= box["x"] + box["width"] for box in homes)


def test_a_directory_leads_to_its_pages(browser: Any, tmp_path: Path) -> None:
    plan = plan_wiring("circulant(64,1,5)", plain_inventory(64, 4, panels=2, kind="patch panel"))
    export_wiring(plan, "package", tmp_path / "work")
    index = (tmp_path / "work" / "index.html").as_uri()
    for width in (390, 1200):
        look(browser, "light", width)
        browser.get(f"{index}#C120.b")  # as the code of a label
        wait_for(browser, lambda one: "/panel-" in one.current_url)  # its script leads there once it is loaded
        wait_for(browser, lambda one: "C120" in find(one, "tr:has(:target), tr:target").text)
        browser.get(index)
        find(browser, "#find").send_keys("h63")
        [link] = browser.find_elements("css selector", "#found a")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        link.click()
        wait_for(browser, lambda one: "h63" in find(one, "tbody").text)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert len(re.findall(r"[?&#]", browser.current_url)) == 1


def wait_for(browser: Any, condition: Callable[[Any], bool]) -> None:
    """Wait until a condition of the browser holds, also while pages change."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    ignored = (NoSuchElementException, StaleElementReferenceException)
    WebDriverWait(browser, 60, ignored_exceptions=ignored).until(condition)


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def shown(browser: Any) -> list[int]:
    return [
        int(box.get_attribute("data-choice"))
        for box in browser.find_elements("css selector", ".choice")
        if box.is_displayed()
    ]


def pixels(browser: Any) -> Any:
    from matplotlib import image

    return image.imread(BytesIO(base64.b64decode(browser.get_screenshot_as_base64())))[..., :3]


def press(browser: Any, selector: str, *keys: str) -> None:
    find(browser, selector).send_keys(*keys)


ENTER, END, HOME, LEFT, RIGHT, DOWN = "\ue007", "\ue010", "\ue011", "\ue012", "\ue014", "\ue015"


@pytest.mark.dear
def test_what_is_chosen_is_shown(browser: Any, tmp_path: Path) -> None:
    found = pareto(200, 6)
    show(browser, report_page(found), tmp_path)
    best = found.entries.index(found.best)
    assert len(found) == 2
    assert shown(browser) == [best]
    find(browser, f"tr[data-pick='{1 - best}']").click()
    assert shown(browser) == [1 - best]
    assert find(browser, f"input[value='{1 - best}']").is_selected()
    assert find(browser, ".choice:not([hidden]) h2").text.endswith(found[1 - best].short)
    assert find(browser, ".choice:not([hidden]) .net").is_displayed()
    press(browser, f"input[value='{1 - best}']", DOWN)
    assert shown(browser) == [best]
    # every point says its exact figures, and chooses when it is clicked on
    for place, entry in enumerate(found):
        point = find(browser, f".chart [data-pick='{place}']")
        assert f"BW factor {entry.mean.bandwidth}" in point.find_element("css selector", "title").get_attribute(
            "textContent"
        )
        point.find_element("css selector", "use").click()
        assert shown(browser) == [place]
        assert browser.find_elements("css selector", ".chart .chosen") == [point]


@pytest.mark.dear("circulant(12,2,3)-allreduce-options0")
@pytest.mark.parametrize(
    ("place", "collective", "options"),
    [
        ("circulant(12,2,3)", "allreduce", {}),
        ("dgx_a100(2)", "allgather", {}),
        ("kautz(2,1)", "all-to-all", {}),
        ("circulant(6,1,2)", "reduce-scatter", {"method": "tacos"}),
    ],
)
def test_what_is_played_arrives(
    browser: Any, tmp_path: Path, place: str, collective: str, options: dict[str, Any]
) -> None:
    show(browser, report_page(schedule(place, collective, **options)), tmp_path)
    box, stage = find(browser, ".player"), ".player .stage"
    last = int(find(browser, ".player input[type=range]").get_attribute("max"))
    assert (box.get_attribute("data-instant"), box.get_attribute("data-complete")) == ("0", "false")
    for instant in range(1, last + 1):
        assert box.get_attribute("data-complete") == "false"
        press(browser, stage, RIGHT)
        assert box.get_attribute("data-instant") == str(instant)
        assert browser.find_elements("css selector", ".player .send")
        assert find(browser, ".carried tbody th").text
    assert box.get_attribute("data-complete") == "true"
    assert "Every node has all" in find(browser, ".said").text
    press(browser, stage, LEFT)
    assert (box.get_attribute("data-instant"), box.get_attribute("data-complete")) == (str(last - 1), "false")
    press(browser, stage, HOME)
    assert box.get_attribute("data-instant") == "0"
    find(browser, ".player button[aria-label='To the end']").click()
    assert box.get_attribute("data-complete") == "true"
    find(browser, ".player select option:nth-child(2)").click()
    assert box.get_attribute("data-complete") == "true"


def test_it_plays_by_itself(browser: Any, tmp_path: Path) -> None:
    show(browser, report_page(schedule("circulant(6,1,2)", "allgather", method="tacos")), tmp_path)
    browser.execute_script("const real = setInterval; window.setInterval = (act) => real(act, 5);")
    press(browser, ".player .stage", " ")
    wait_for(browser, lambda one: find(one, ".player").get_attribute("data-complete") == "true")
    assert "Play" in find(browser, ".player .play").text
    press(browser, ".player .stage", " ", " ")
    assert "Play" in find(browser, ".player .play").text


@pytest.mark.dear
def test_light_dark_narrow_and_printed(browser: Any, tmp_path: Path) -> None:
    show(browser, report_page("circulant(12,2,3)"), tmp_path)
    seen = {}
    for scheme in ("light", "dark"):
        look(browser, scheme, 1200)
        seen[scheme] = pixels(browser)
        assert len(np.unique((seen[scheme][::3, ::3] * 255).astype(int).reshape(-1, 3), axis=0)) > 50
    assert np.median(seen["light"]) > 0.8
    assert np.median(seen["dark"]) < 0.2
    find(browser, "#theme").click()
    assert np.median(pixels(browser)) > 0.8
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    for width in (390, 1200):
        look(browser, "light", width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


OFF_SCREEN = """
return [...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && box.height && box.right > innerWidth + 1
    && !one.closest(".skip, .unseen, details:not([open])") && getComputedStyle(one).visibility !== "hidden";
}).map((one) => `${one.tagName}.${one.getAttribute("class")}`)"""


def check_looks(browser: Any, path: Path) -> None:
    """Check a page at a desk and on a phone, light and dark: nothing off-screen, and pictures where they belong."""
    assert path.stat().st_size < 3_000_000
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            look(browser, scheme, width)
            browser.get(path.as_uri())
            assert browser.execute_script(OFF_SCREEN) == []
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            assert all(one.size["height"] > 30 for one in browser.find_elements("css selector", ".summary .net"))


SHOWN = ["catalog(200,6,2)", "genkautz(6,200)", "torus(5,5,8)", "dgx_a100(8)", "circulant(12,2,3)"]


@pytest.mark.dear("genkautz(6,200)", "dgx_a100(8)", "catalog(200,6,2)", "torus(5,5,8)")
@pytest.mark.parametrize("what", SHOWN)
def test_pages_fit_and_their_summary_is_one_page(browser: Any, tmp_path: Path, what: str) -> None:
    path = tmp_path / "page.html"
    report_page(what).save(path)
    check_looks(browser, path)
    look(browser, "light", 1280)
    for box in ("section:not(.summary)", "footer"):
        browser.execute_script(f"document.querySelectorAll('{box}').forEach((one) => one.remove())")
    browser.execute_script("document.querySelector('.summary').style.breakAfter = 'avoid'")
    assert pages_of(browser) == 1


@pytest.mark.dear
def test_a_decision_fits_and_tells_who_is_ahead(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    found = design(
        nodes=8, degree=3, bandwidth="400Gbps", workload=STEP, rivals=["torus"], prices={"cable": 40}, grow=[10]
    )
    report_page(found).save(path)
    check_looks(browser, path)
    look(browser, "light", 1280)
    browser.get(path.as_uri())
    charts = browser.find_elements("css selector", ".chart")
    assert len(charts) == 2
    for chart in charts:
        told = [one.get_attribute("textContent") for one in chart.find_elements("css selector", "title")]
        assert told
        assert all(any(name in text for name in labels(found)) for text in told)
    browser.execute_script("document.querySelectorAll('section:not(.summary)').forEach((one) => one.remove())")
    browser.execute_script("document.querySelector('.summary').style.breakAfter = 'avoid'")
    assert pages_of(browser) == 1


def pages_of(browser: Any) -> int:
    """Return on how many sheets of A4 a page is printed."""
    size = {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", size)["data"])
    return len(re.findall(rb"/Type\s*/Page\b", printed))


@pytest.mark.dear
def test_names_stay_names(browser: Any, tmp_path: Path) -> None:
    names = [f"{EVIL}{number}" for number in range(3)]
    links = [FabricLink(a, b, Fraction(10**9), EVIL) for a in names for b in names if a != b]
    show(browser, report_page(Fabric.from_links(EVIL, names, (), links)), tmp_path)
    press(browser, ".player .stage", END)
    assert find(browser, ".player").get_attribute("data-complete") == "true"
    assert not browser.find_elements("css selector", "img")
    assert EVIL in find(browser, "h1").text
    assert names[0] in find(browser, ".carried").text
