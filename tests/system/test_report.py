"""The report in a real Chromium: no complaint, no request, filters, keys, hostile text, light, dark and a phone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recording.hostile import write_hostile
from tests.system.browser import Browser
from toolcalls.recording import store
from toolcalls.recording.report import write_report

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "recordings"
COUNT = len(store.find(RECORDINGS))
ENTER, ESCAPE = "\ue007", "\ue00c"
SHOWN = "[...document.querySelectorAll('#list > li')].filter(item => !item.hidden)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert Browser.is_installed(), "scripts/test-system installs chromium and chromium-driver"
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("report") / "report.html"
    write_report(RECORDINGS, target)
    return target


@pytest.fixture
def page(browser: Browser, report: Path) -> Browser:
    browser.look(1280, 900)
    browser.open(report)
    return browser


def screenshot(browser: Browser, name: str) -> None:
    """Kept where TOOLFIX_SCREENSHOTS says, for a person to look at."""
    if folder := os.environ.get("TOOLFIX_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        browser.screenshot(Path(folder) / f"{name}.png")


def titles(browser: Browser) -> list[str]:
    found: list[str] = browser.run(f"return {SHOWN}.map(item => item.querySelector('.name').textContent)")
    return found


def choose(browser: Browser, value: str) -> None:
    browser.run(f"[...document.querySelectorAll('.facet button')].find(b => b.dataset.value === {value!r}).click()")


def test_it_loads_quickly_without_a_complaint_and_asks_nobody(browser: Browser, report: Path) -> None:
    browser.look(1280, 900)
    browser.complaints()
    browser.requests()
    started = time.monotonic()
    browser.open(report)
    assert len(titles(browser)) == COUNT
    assert time.monotonic() - started < 5
    for row in range(0, COUNT, 7):
        browser.run(f"document.querySelectorAll('.row')[{row}].click()")
    browser.run("document.querySelectorAll('details.stream').forEach(box => box.open = true)")
    assert browser.complaints() == []
    asked = {url for url in browser.requests() if url.startswith(("http", "ws", "file", "data"))}
    assert asked == {report.resolve().as_uri()}
    screenshot(browser, "opened")


def test_the_policy_forbids_what_an_injected_script_would_do(page: Browser) -> None:
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s);"
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);"
    )
    assert page.run("return window.hacked === undefined") is True
    assert any("Content Security Policy" in text for text in page.complaints())


def test_search_and_filters_narrow_the_list(page: Browser) -> None:
    page.type("/")
    page.type("python dict pieces")
    assert titles(page) == ["chat-python-dict"]
    assert page.run("return document.getElementById('found').textContent") == "1 recording, 1 call"
    page.type(ESCAPE)
    assert len(titles(page)) == COUNT
    choose(page, "refused")
    refused = titles(page)
    assert 0 < len(refused) < COUNT
    choose(page, "responses")
    both = titles(page)
    assert both and set(both) < set(refused)
    spoken = {path.name: store.load(path).protocol for path in store.find(ROOT / "recordings")}
    assert {spoken[name] for name in both} == {"responses"}
    page.run("document.getElementById('reset').click()")
    assert len(titles(page)) == COUNT
    page.type("no such thing anywhere")
    assert titles(page) == []
    assert page.run("return !document.getElementById('none').hidden") is True


def test_keys_move_and_open(page: Browser) -> None:
    page.type("jjk")
    assert page.run("return document.activeElement === document.querySelectorAll('.row')[0]") is True
    page.type("j" + ENTER)
    row = "document.querySelectorAll('.row')[1]"
    assert page.run(f"return {row}.getAttribute('aria-expanded')") == "true"
    assert page.run(f"return {row}.parentNode.querySelectorAll('.call').length") >= 1
    page.type(ENTER)
    assert page.run(f"return {row}.parentNode.querySelector('.detail').hidden") is True


def test_the_difference_is_marked_and_put_together_again_it_is_the_text(browser: Browser, report: Path) -> None:
    browser.open(report, "#chat-python-dict")
    marks = browser.run("return [...document.querySelectorAll('mark')].map(m => [m.className, m.textContent])")
    assert ["gone", "'"] in marks and ["new", '"'] in marks
    texts = browser.run("return [...document.querySelectorAll('.call pre')].map(pre => pre.textContent)")
    assert texts[0].startswith("{'todos': [{'content': \"Don't break the build\"")
    assert texts[1].startswith('{"todos":[{"content":"Don\'t break the build"')
    for row in range(0, COUNT, 5):
        button = f"document.querySelectorAll('.row')[{row}]"
        browser.run(f"{button}.ariaExpanded === 'true' || {button}.click()")
    unequal = browser.run(
        """
        const visible = (text) => text.replace(/[^ -~\\n]/g, '');
        const flows = JSON.parse(document.getElementById('data').textContent).flows;
        return [...document.querySelectorAll('#list > li')].flatMap((item, at) =>
          [...item.querySelectorAll('.call')].map((box, number) => {
            const call = flows[at].calls[number];
            const panes = [...box.querySelectorAll('pre')].map(pre => pre.textContent);
            const wanted = [call.received_arguments ?? call.arguments, call.arguments].slice(0, panes.length);
            return wanted.every((text, side) => visible(text) === visible(panes[side])) ? null : flows[at].name;
          })).filter(Boolean);
        """
    )
    assert unequal == []


def test_hostile_recordings_are_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    attacks = write_hostile(tmp_path / "recordings")
    target = tmp_path / "hostile.html"
    write_report(tmp_path / "recordings", target)
    browser.complaints()
    browser.open(target)
    browser.run("document.querySelectorAll('.row').forEach(row => row.click())")
    browser.run("document.querySelectorAll('details.stream').forEach(box => box.open = true)")
    time.sleep(0.2)
    assert browser.complaints() == []
    assert browser.run("return window.hacked === undefined") is True
    assert browser.run("return document.querySelectorAll('img, iframe, svg, style').length") == 1
    assert browser.run("return document.querySelectorAll('script').length") == 2 + len(attacks)
    shown = browser.run("return [...document.querySelectorAll('.title')].map(node => node.textContent)")
    assert {attack for attack in attacks if attack.isprintable()} <= set(shown)
    assert any("⟨U+202E⟩gnp.exe␀␛[31m⟨U+FEFF⟩" in text for text in shown)
    assert "hidden" not in browser.run("return getComputedStyle(document.body).display")
    screenshot(browser, "hostile")


@pytest.mark.parametrize(
    ("name", "width", "height", "dark", "phone"),
    [
        ("light", 1280, 900, False, False),
        ("dark", 1280, 900, True, False),
        ("phone", 390, 844, False, True),
        ("phone-dark", 390, 844, True, True),
    ],
)
def test_it_fits_every_screen_and_can_be_read_in_light_and_dark(
    name: str, width: int, height: int, dark: bool, phone: bool, browser: Browser, report: Path
) -> None:
    browser.look(width, height, dark=dark, phone=phone)
    browser.open(report)
    browser.run("document.querySelectorAll('.row')[0].click()")
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth") is True
    lightness = "const [r, g, b] = getComputedStyle(document.body)[arguments[0]].match(/[0-9]+/g)"
    background, text = (
        browser.run(lightness.replace("arguments[0]", f"'{what}'") + "; return (r*299 + g*587 + b*114) / 1000")
        for what in ("backgroundColor", "color")
    )
    assert (background < 60 < 180 < text) if dark else (text < 60 < 220 < background)
    assert browser.run("return document.getElementById('facets').open") is not phone
    screenshot(browser, name)
