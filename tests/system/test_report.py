"""The report in a real Chromium: no complaint, no request, filters, keys, hostile text, light, dark and a phone."""

from __future__ import annotations

import json
import os
import re
import shutil
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


def test_what_was_mended_and_refused_comes_first(page: Browser) -> None:
    pills: list[str] = page.run("return [...document.querySelectorAll('.row .pill')].map(pill => pill.textContent)")
    order = ["mended", "refused", "stream mended", "request mended", "sent whole", "unchanged"]
    assert list(dict.fromkeys(pills)) == order
    labels = page.run("return [...document.querySelectorAll('#tiles dt')].map(label => label.textContent)")
    assert labels == ["recordings", "tool calls", "calls mended", "calls refused", "calls unchanged"]


@pytest.mark.parametrize("place", ["#share", "#keys"])
def test_the_bar_and_the_legend_filter(page: Browser, place: str) -> None:
    page.run(f"document.querySelector('{place} button.is-refused').click()")
    assert 0 < len(titles(page)) < COUNT
    assert page.run(f"return {SHOWN}.every(item => item.querySelector('.pill.is-refused'))") is True
    assert page.run("return location.hash") == "#state=refused"
    page.run(f"document.querySelector('{place} button.is-refused').click()")
    assert len(titles(page)) == COUNT


def test_the_address_keeps_the_filters_and_the_open_recording(browser: Browser, report: Path) -> None:
    browser.look(1280, 900)
    browser.open(report, "#q=python+dict+pieces&state=mended&open=chat-python-dict")
    assert titles(browser) == ["chat-python-dict"]
    assert browser.run("return document.getElementById('query').value") == "python dict pieces"
    assert browser.run("return document.querySelectorAll('.call').length") == 1
    browser.run("document.querySelector('#list > li:not([hidden]) .row').click()")
    assert browser.run("return location.hash") == "#q=python+dict+pieces&state=mended"
    browser.open(report, "#%E0%A4%A&state=no-such")
    assert titles(browser) == []


def test_a_copy_button_copies_the_text_itself(browser: Browser, report: Path) -> None:
    browser.open(report, "#chat-python-dict")
    browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.run("document.querySelectorAll('.call .copy')[1].click()")
    assert browser.run("return window.copied").startswith('{"todos":[{"content":"Don\'t break the build"')
    assert browser.run("return document.querySelectorAll('.call .copy')[1].textContent") == "Copied"


def test_the_timeline_shows_when_calls_came_and_opens_them(browser: Browser, tmp_path: Path) -> None:
    for number, name in enumerate(("chat-python-dict", "chat-args-comment")):
        timed(RECORDINGS / "chat" / name, tmp_path / "recordings" / name, f"2026-11-17T09:00:0{number}+00:00")
    write_report(tmp_path / "recordings", tmp_path / "timed.html")
    browser.look(390, 844, phone=True)
    browser.open(tmp_path / "timed.html")
    marks = "document.querySelectorAll('#timeline div button')"
    assert browser.run(f"return {marks}.length") == 2
    assert "held for" in browser.run(f"return {marks}[0].title")
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth") is True
    browser.run(f"{marks}[1].click()")
    assert browser.run("return location.hash") == "#open=chat-args-comment"
    assert browser.run("return document.querySelectorAll('.call').length") == 1
    screenshot(browser, "timeline")


def timed(source: Path, target: Path, started: str) -> None:
    """A copy whose events came a tenth of a second apart."""
    shutil.copytree(source, target)
    body = (target / "before.sse").read_bytes()
    starts = [0, *(found.end() for found in re.finditer(rb"\n\n", body))][:-1]
    flow = json.loads((target / "flow.json").read_text())
    flow |= {"started": started, "chunks": [{"offset": at, "ms": 100 * n} for n, at in enumerate(starts)]}
    (target / "flow.json").write_text(json.dumps(flow))


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
