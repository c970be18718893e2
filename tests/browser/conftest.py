"""A real browser: Chromium from the system, or the one that playwright brings."""

import os
import shutil

import pytest

NAMES = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"
GET = "apt-get install chromium, or `playwright install chromium`"


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: uv sync --group dev")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            opened, why = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"]), ""
        except sync_api.Error as error:
            opened, why = None, f"needs Chromium: {GET} ({str(error).splitlines()[0]})"
        if why and os.environ.get("AGONIST_REQUIRE") == "all":
            pytest.fail(why, pytrace=False)
        if why:
            pytest.skip(why)
        yield opened
        opened.close()
