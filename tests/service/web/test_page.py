"""The page in a real browser: coming in and going out, links, light and dark, a phone, the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.browsing import PHONE, ask, fill_gate, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, Service, listening, serving, visits

pytestmark = needs_browser

KEPT = "sessionStorage.length + document.cookie.length"
CONTRAST = """() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = parse(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.disabled || element.closest("svg, template, option")) continue;
    const [one, other] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName} ${element.className} ${element.textContent}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data) as made, listening(made.app) as url:
        yield made, url


@pytest.fixture
def page(browser: Any, service: tuple[Service, str], request: pytest.FixtureRequest) -> Iterator[Any]:
    with tab(browser, service[1], **getattr(request, "param", {})) as opened:
        yield opened


def test_an_unknown_token_is_refused_beside_the_button_and_one_in_curly_quotes_is_mended(
    page: Any, service: tuple[Service, str]
) -> None:
    page.get_by_label("Token").fill("sg_wrong")
    page.keyboard.press("Enter")
    page.locator("#enter-form [role=alert]").get_by_text("not known").wait_for()
    assert page.evaluate(KEPT) == 0
    page.get_by_label("Token").fill(f" {service[0].analyst} ")
    assert page.locator("#token-note").is_hidden(), "a good token is not told off"
    page.get_by_label("Token").fill(f"“{service[0].analyst}”")
    page.get_by_role("status").get_by_text("curly").wait_for()
    page.get_by_role("button", name="Take the token alone").click()
    assert page.locator("#token-note").is_hidden()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def test_it_says_who_is_there_and_shows_an_analyst_nothing_of_an_owner(page: Any, service: tuple[Service, str]) -> None:
    sign_in(page, service[0].analyst)
    page.get_by_role("link", name="anna (analyst)").click()
    page.get_by_role("heading", name="Who am I").wait_for()
    assert page.locator("#me dd").first.text_content() == "anna"
    for name in ("Budget", "Tokens", "Activity", "Open a gate"):
        assert page.get_by_role("link", name=name, exact=True).is_hidden()
    go(page, "#/budget")
    page.get_by_role("heading", name="Gates").wait_for()


def test_a_link_to_a_gate_survives_signing_in_and_a_reload(page: Any, service: tuple[Service, str]) -> None:
    made = service[0].open_gate(name="Ward 7")
    page.goto(f"{service[1]}/#/gates/{made}")
    page.reload()
    sign_in(page, service[0].analyst)
    page.get_by_role("heading", name="Ward 7").wait_for()
    page.reload()
    page.get_by_role("heading", name="Ward 7").wait_for()
    assert page.title() == "Ward 7 · sparsegate"


def test_signing_out_leaves_nothing_in_the_page_or_its_storage(page: Any, service: tuple[Service, str]) -> None:
    made = service[0].open_gate(name="a secret name")
    service[0].ask(made, "country = 'secret country'")
    sign_in(page, service[0].owner)
    go(page, f"#/gates/{made}")
    page.get_by_text("secret country").first.wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert page.evaluate(KEPT) == 0
    left = page.evaluate("document.documentElement.outerHTML + location.href + document.title")
    for word in ("secret", "olga", "country", made, service[0].owner):
        assert word not in left
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.wait_for_timeout(1500)
    assert sent == [], "a timer that goes on knows what it asks for"
    page.go_back()
    page.get_by_label("Token").wait_for()
    assert page.get_by_text("secret").count() == 0


def test_a_revoked_token_ends_the_session(page: Any, service: tuple[Service, str]) -> None:
    sign_in(page, service[0].tokens.add("passing by", "analyst"))
    service[0].tokens.revoke("passing by")
    page.get_by_role("alert").get_by_text("expired or was revoked").wait_for()
    assert page.evaluate(KEPT) == 0


def test_everything_can_be_reached_with_the_keyboard_in_the_order_it_is_read(
    page: Any, service: tuple[Service, str]
) -> None:
    service[0].open_gate(name="by keyboard")
    sign_in(page, service[0].analyst)
    page.reload()
    page.locator("[data-gate]").first.wait_for()
    seen: list[str] = []
    while len(seen) < 12 and "by keyboard" not in (seen or [""])[-1]:
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText || document.activeElement.id"))
    order = ["Skip to the content", "sparsegate", "anna (analyst)", "Dark", "Sign out", "Gates", "Practice", "search"]
    assert [text for text in seen if text in order] == order
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="by keyboard").wait_for()
    assert page.evaluate("document.activeElement.id") == "title"
    here = page.url
    page.locator("#skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url == here


@pytest.mark.parametrize("page", [PHONE], indirect=True, ids=["phone"])
def test_it_fits_a_phone_and_can_be_read(page: Any, service: tuple[Service, str]) -> None:
    made = service[0].open_gate(name="n" * 100, description="d" * 300)
    service[0].ask(made, "country = 'DE' AND page IN ('/home', '/a-very-long-page-name-that-does-not-end')")
    sign_in(page, service[0].owner)
    for place, ready in {
        "#/gates": "[data-gate]",
        "#/open": "#open",
        f"#/gates/{made}": "#answers tr",
        "#/budget": "#entries tr",
        "#/tokens": "#token-list tr",
        "#/activity": "#activity tr",
        "#/practice": "#practice-note",
        "#/me": "#me dd",
    }.items():
        go(page, place)
        page.locator(ready).first.wait_for()
        if place == "#/open":
            fill_gate(page, Threshold=5, Epsilon="0.5")
        if place.startswith("#/gates/"):
            ask(page, MANY)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, place
        shown = "[...document.querySelectorAll('button, nav a, input, select')].filter(b => b.checkVisibility())"
        assert page.evaluate(f"Math.min(...{shown}.map(b => b.getBoundingClientRect().height))") >= 44, place
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CONTRAST) == [], (place, scheme)
