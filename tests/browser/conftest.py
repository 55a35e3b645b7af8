"""A real browser, without a window, and pages opened in it.

KERNELWISE_BROWSER=webkit takes WebKit instead of Chromium; it needs a display, for instance by xvfb-run.
"""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from browser.audits import make_labels
from kernelwise.report import PageSettings, label_report, write_report
from waiting import wait_until

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


WEBKIT = os.environ.get("KERNELWISE_BROWSER") == "webkit"


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    browser = webkit() if WEBKIT else chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


def chromium(profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not program or not chromedriver:
        pytest.fail("these tests need Chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(chromedriver))


def webkit():
    from selenium import webdriver
    from selenium.webdriver.webkitgtk.service import Service

    program = next(iter(sorted(Path("/usr/lib").glob("*/webkit2gtk-*/MiniBrowser"), reverse=True)), None)
    webkitdriver = shutil.which("WebKitWebDriver")
    if not program or not webkitdriver:
        pytest.fail("these tests need WebKit (Debian: apt-get install webkit2gtk-driver xvfb)")
    options = webdriver.WebKitGTKOptions()
    options.binary_location = str(program)
    options.add_argument("--automation")
    with warnings.catch_warnings():  # selenium calls its own remote connection in a deprecated way
        warnings.simplefilter("ignore", DeprecationWarning)
        return webdriver.WebKitGTK(options=options, service=Service(webkitdriver))


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

    def emulate_print(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print" if on else ""})

    def reload(self):
        self.driver.refresh()
        self.wait("return performance.getEntriesByName('kernelwise-ready').length > 0")

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def wait(self, script):
        wait_until(lambda: self.run(script))
        return self.run(script)

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
        path = self.folder / name
        wait_until(lambda: path.exists() and not list(self.folder.glob("*.crdownload")))
        return path

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


class WebKitPage(Page):
    """The same in WebKit, whose driver can neither emulate media nor download files nor read the console."""

    def open(self, report, *, width=1280, height=900, scheme="light", before=""):
        if scheme != "light" or before:
            pytest.skip("the driver of WebKit can neither choose a colour scheme nor run a script before the page")
        own = {**report, "key": f"{self.folder} {report['key']}"}
        path = write_report(own, self.folder / "review.html", force=True)
        self.driver.set_window_size(width, height)
        self.visit(path)

    def visit(self, path):
        self.driver.get(path.as_uri())
        self.wait("return performance.getEntriesByName('kernelwise-ready').length > 0")
        self.keep_downloads()

    def reload(self):
        super().reload()
        self.keep_downloads()

    def keep_downloads(self):
        """What the page hands over to be downloaded is kept, under the name that the page gives."""
        self.run(
            "window.kept = {}; const click = HTMLAnchorElement.prototype.click; let blob;"
            "URL.createObjectURL = (made) => { blob = made; return 'blob:kept'; };"
            "HTMLAnchorElement.prototype.click = function () {"
            "  if (this.download) blob.arrayBuffer().then((bytes) => {"
            "    window.kept[this.download] = Array.from(new Uint8Array(bytes)); });"
            "  else click.call(this); };"
        )

    def download(self, name="corrections.csv"):
        path = self.folder / name
        path.write_bytes(bytes(self.wait(f"return window.kept[{name!r}]")))
        return path

    def click(self, selector):
        """The driver of WebKit does not always scroll a list until the element is in view."""
        self.run("arguments[0].scrollIntoView({ block: 'nearest' })", self.find(selector))
        super().click(selector)

    def emulate_print(self, on):
        pytest.skip("the driver of WebKit cannot emulate print")

    def complaints(self):
        return []


@pytest.fixture
def page(driver, tmp_path):
    page = (WebKitPage if WEBKIT else Page)(driver, tmp_path)
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
