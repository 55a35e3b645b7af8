"""A real browser, without a window, and pages opened in it."""

import shutil
import time

import numpy as np
import pytest

from browser.audits import make_labels
from kernelwise.report import PageSettings, label_report, write_report

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.fail("these tests need Chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield browser
    browser.quit()


class Page:
    """A review page in the browser, as its reader meets it."""

    def __init__(self, driver, folder):
        self.driver, self.folder = driver, folder

    def open(self, report, *, width=1280, height=900, scheme="light", before=""):
        """Open a report; ``before`` is a script that runs before the page's own."""
        own = {**report, "key": f"{self.folder} {report['key']}"}  # no test sees the decisions of another
        path = write_report(own, self.folder / "review.html", force=True)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": before})
        self.visit(path)
        self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    def visit(self, path):
        downloads = {"behavior": "allow", "downloadPath": str(self.folder)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
        self.driver.get(path.as_uri())
        self.wait("return performance.getEntriesByName('kernelwise-ready').length > 0")

    def reload(self):
        self.driver.refresh()
        self.wait("return performance.getEntriesByName('kernelwise-ready').length > 0")

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def wait(self, script, seconds=20.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {script}")

    def press(self, keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(keys).perform()

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector):
        self.find(selector).click()

    def choose(self, selector, value):
        """Choose an option, or fill in a field, as a person does."""
        control = self.find(selector)
        if control.tag_name == "select":
            from selenium.webdriver.support.select import Select

            Select(control).select_by_value(value)
        else:
            control.clear()
            control.send_keys(value)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(n => n.textContent)", selector)

    def text(self, selector):
        (found,) = self.texts(selector)
        return found

    def current(self):
        """The identifier of the row under review, in the list and on the card."""
        listed = self.text("#rows [aria-current] .col-id")
        assert self.text("#card h2 bdi") == listed
        return listed

    def download(self, name="corrections.csv"):
        """The exported file, once it is complete."""
        path, end = self.folder / name, time.monotonic() + 20
        while time.monotonic() < end:
            if path.exists() and not list(self.folder.glob("*.crdownload")):
                return path
            time.sleep(0.05)
        raise AssertionError(f"{name} was not downloaded")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture
def page(driver, tmp_path):
    page = Page(driver, tmp_path)
    yield page
    complaints = page.complaints()
    driver.get("about:blank")
    assert not complaints


@pytest.fixture
def audit():
    return make_labels(80)


@pytest.fixture
def report(audit):
    X = np.random.default_rng(1).normal(size=(80, 4)).round(3)
    X[:, 1] = np.arange(80)[::-1]
    return label_report(
        audit,
        X=X,
        feature_names=["length", "count", "links", "caps"],
        ids=[f"mail-{row:02d}" for row in range(80)],
        kernel_weights={"wide": 0.7, "narrow": 0.3, "unused": 0.0},
        history=[(k, 0.0, 1 + 2.0**-k, 1 - 2.0**-k) for k in range(20)],
        settings=PageSettings(title="mail.csv", id_name="mail", label_name="kind"),
    )
