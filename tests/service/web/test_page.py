"""The page in a real browser: coming in and going out, asking, old answers, opening gates, what an owner sees."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.browsing import PHONE, ask, call, fill_gate, go, needs_browser, sign_in, tab
from tests.support.serving import MANY, NOBODY, listening, serving, visits

from sparsegate.conditions import Column, Kind, Schema, read_condition
from sparsegate.ledger.account import exact_text

pytestmark = needs_browser


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with visits(folder) as data, serving(folder, data, epsilon=100_000) as made, listening(made.app) as made.url:
        yield made


@pytest.fixture
def page(browser, service, request):
    """A new tab, where nobody is signed in."""
    with tab(browser, service.url, **getattr(request, "param", {})) as opened:
        yield opened


@pytest.fixture(scope="module")
def owner(browser, service):
    """One tab, signed in as the owner."""
    with tab(browser, service.url) as opened:
        sign_in(opened, service.owner)
        yield opened


@pytest.fixture(scope="module")
def analyst(browser, service):
    with tab(browser, service.url, permissions=["clipboard-read", "clipboard-write"]) as opened:
        sign_in(opened, service.analyst)
        yield opened


@pytest.fixture
def at_gate(analyst, service):
    """The analyst's tab at a new gate; the page says its name."""
    gate = service.open_gate(name="new")
    go(analyst, f"#/gates/{gate}")
    analyst.get_by_text(f"{gate}, opened").wait_for()
    analyst.get_by_label("Count where").wait_for()
    analyst.gate = gate
    return analyst


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


def test_an_unknown_token_is_refused_beside_the_button_and_one_in_curly_quotes_is_mended(page, service):
    page.get_by_label("Token").fill("sg_wrong")
    page.keyboard.press("Enter")
    page.locator("#enter-form [role=alert]").get_by_text("not known").wait_for()
    assert page.evaluate(KEPT) == 0
    page.get_by_label("Token").fill(f" {service.analyst} ")
    assert page.locator("#token-note").is_hidden(), "a good token is not told off"
    page.get_by_label("Token").fill(f"“{service.analyst}”")
    page.get_by_role("status").get_by_text("curly").wait_for()
    page.get_by_role("button", name="Take the token alone").click()
    assert page.locator("#token-note").is_hidden()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def test_it_says_who_is_there_and_shows_an_analyst_nothing_of_an_owner(page, service):
    sign_in(page, service.analyst)
    page.get_by_role("link", name="anna (analyst)").click()
    page.get_by_role("heading", name="Who am I").wait_for()
    assert page.locator("#me dd").first.text_content() == "anna"
    for name in ("Budget", "Tokens", "Activity", "Open a gate"):
        assert page.get_by_role("link", name=name, exact=True).is_hidden()
    go(page, "#/budget")
    page.get_by_role("heading", name="Gates").wait_for()


def test_signing_out_leaves_nothing_in_the_page_or_its_storage(page, service):
    made = service.open_gate(name="a secret name")
    service.ask(made, "country = 'secret country'")
    sign_in(page, service.owner)
    go(page, f"#/gates/{made}")
    page.get_by_text("secret country").first.wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert page.evaluate(KEPT) == 0
    left = page.evaluate("document.documentElement.outerHTML + location.href + document.title")
    for word in ("secret", "olga", "country", made, service.owner):
        assert word not in left
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    page.wait_for_timeout(1500)
    assert sent == [], "a timer that goes on knows what it asks for"
    page.go_back()
    page.get_by_label("Token").wait_for()
    assert page.get_by_text("secret").count() == 0


def test_a_revoked_token_ends_the_session(page, service):
    sign_in(page, service.tokens.add("passing by", "analyst"))
    service.tokens.revoke("passing by")
    page.get_by_role("alert").get_by_text("expired or was revoked").wait_for()
    assert page.evaluate(KEPT) == 0


def test_everything_can_be_reached_with_the_keyboard_in_the_order_it_is_read(page, service):
    service.open_gate(name="by keyboard")
    sign_in(page, service.analyst)
    page.reload()
    page.locator("[data-gate]").first.wait_for()
    seen = []
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
def test_it_fits_a_phone_and_can_be_read(page, service):
    made = service.open_gate(name="n" * 100, description="d" * 300)
    service.ask(made, "country = 'DE' AND page IN ('/home', '/a-very-long-page-name-that-does-not-end')")
    sign_in(page, service.owner)
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


def test_what_an_answer_means_and_costs_is_said_in_words(at_gate, service):
    margin = -(-service.send("GET", f"/v1/gates/{at_gate.gate}").json()["margin"] // 1)
    low, high = 100 - int(margin), 100 + int(margin)
    before = str(at_gate.locator("#means").text_content())
    assert f"Probably more than {low} people (100 − {margin:.0f})" in before
    assert f"Probably fewer than {high} people (100 + {margin:.0f})" in before
    assert "That 3 answers are all right, 95 % of the time, takes counts" in before
    assert "An ABOVE costs one of the gate's 3. A BELOW is free" in before
    above = ask(at_gate, MANY)
    assert above.startswith("ABOVE ≈ ")
    for part in (f"Probably more than {low} people", "The estimate is", "It cost one ABOVE: 2 of 3 left."):
        assert part in above
    below = ask(at_gate, NOBODY)
    assert below.startswith(f"BELOW Probably fewer than {high} people")
    assert "It was free: 2 of 3 ABOVE left." in below
    assert at_gate.locator("#latest").get_attribute("role") == "status"


def test_a_gate_that_pays_for_each_above_says_how_many_and_what_one_costs(browser, tmp_path, data):
    with (
        serving(tmp_path, data, epsilon=(3, 1e-6)) as service,
        listening(service.app) as url,
        tab(browser, url) as page,
    ):
        view = service.send("POST", "/v1/gates", {"threshold": 100, "within": 60, "name": "metered"}).json()
        sign_in(page, service.owner)
        go(page, f"#/gates/{view['id']}")
        page.get_by_label("Count where").wait_for()
        each = f"ρ ≈ {float(view['above_rho']):.6g}"
        assert f"An ABOVE costs {each}" in str(page.locator("#means").text_content())
        assert f"It cost {each}" in ask(page, MANY)
        assert "It was free." in ask(page, NOBODY)
        page.get_by_text("1 ABOVE given").wait_for()
        assert ", of which the next is reserved." in str(page.locator("#standing").text_content())
        page.get_by_role("button", name="Close this gate").click()
        back = f"The {each} that is held for the next ABOVE goes back."
        assert back in str(page.locator("#sure-text").text_content()), "rho, and only what does"
        page.get_by_role("button", name="Back").click()
        go(page, "#/budget")
        links = page.locator("#entries a")
        links.first.wait_for()
        assert links.evaluate_all("all => all.map(a => a.hash)") == [f"#/gates/{view['id']}"] * 3
        assert page.locator("#amounts").text_content() == "Rho"
        service.send("DELETE", f"/v1/gates/{view['id']}")
        go(page, f"#/gates/{view['id']}")
        page.get_by_text("Closed: it was closed by hand. 1 ABOVE given.").wait_for()
        assert "null" not in str(page.locator("main").text_content())


def test_examples_are_made_from_the_schema_and_every_one_can_be_asked(at_gate, service):
    examples = at_gate.locator("#examples button").all_inner_texts()
    assert len(examples) >= 3
    assert at_gate.get_by_label("Count where").get_attribute("placeholder") in examples
    for text in examples:
        assert service.ask(at_gate.gate, text).status_code == 200, text
    at_gate.locator("#examples button").first.click()
    at_gate.keyboard.type("DE")  # the made-up value is selected, and typed over
    assert at_gate.get_by_label("Count where").input_value() == "country = 'DE'"


ALL_KINDS = [
    {"name": name, "kind": kind}
    for name, kind in zip(
        ("select", 'sa"id', "seen", "price", "years", "at", "day", "paid"),
        ("text", "text", "time", "real", "integer", "timestamp", "date", "boolean"),
        strict=True,
    )
]


@pytest.mark.parametrize("columns", [ALL_KINDS, *([column] for column in ALL_KINDS)], ids=lambda some: some[0]["kind"])
def test_the_help_names_declared_columns_alone_and_all_of_it_can_be_asked(analyst, columns):
    schema = Schema([Column(column["name"], Kind(column["kind"])) for column in columns])
    forms = call(analyst, "condition.js", "operators", columns)
    assert len(forms) >= 3
    for form, _ in forms:
        read_condition(form, schema)


MARKUP = "<img src=x onerror=alert(1)>"


def test_a_condition_is_saved_under_a_name_in_this_browser_alone(page, service):
    gate, posts = service.open_gate(), []
    sign_in(page, service.analyst)
    page.on("request", lambda request: posts.append(request.url) if request.method != "GET" else None)
    go(page, f"#/gates/{gate}")
    where, name = page.get_by_label("Count where"), page.get_by_label("Name for this condition")
    where.fill(f"country = '{MARKUP}'")
    name.fill(MARKUP)
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("in this browser alone").wait_for()
    page.reload()
    page.get_by_role("button", name=f"Use {MARKUP}").click()
    assert where.input_value() == f"country = '{MARKUP}'"
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, service.owner)
    go(page, f"#/gates/{gate}")
    page.get_by_label("Count where").wait_for()
    assert page.locator("#saved button").count() == 0, "another token has its own"
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, service.analyst)
    go(page, f"#/gates/{gate}")
    page.get_by_role("button", name=f"Delete {MARKUP}").click()
    page.get_by_role("button", name="Delete it").click()
    page.locator("#saved-group").wait_for(state="hidden")
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    assert posts == []


def test_answers_are_searched_and_noted_and_notes_stay_here(page, service):
    gate = service.open_gate(cutoff=200)
    for place in range(105):
        assert service.ask(gate, f"page = '/{place}'").status_code == 200
    sign_in(page, service.analyst)
    go(page, f"#/gates/{gate}")
    page.get_by_label("Note on answer 105", exact=True).fill(f"for {MARKUP}")
    page.get_by_label("Search answers and notes").fill("'/3' below")  # the oldest are not in the page
    page.locator("#range").get_by_text("1 of 105 found").wait_for()
    assert page.locator("#answers td.code").all_text_contents() == ["page = '/3'"]
    page.get_by_label("Search answers and notes").fill("ONERROR")
    page.locator("#answers td.code").get_by_text("/104").wait_for()
    page.get_by_label("Search answers and notes").fill("")
    page.locator("#range").get_by_text("6 to 105 of 105").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == f"{gate}.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig"))))
    assert (rows[3]["where"], rows[3]["answer"], rows[104]["note"]) == ("page = '/3'", "below", f"for {MARKUP}")
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    go(page, "#/me")
    page.locator("#kept").get_by_text("notes on answers, 1").wait_for()
    page.get_by_role("button", name="Delete what this browser keeps").click()
    page.get_by_role("button", name="Delete them").click()
    page.locator("#kept").get_by_text("notes on answers, 0").wait_for()
    assert page.evaluate("Object.keys(localStorage).length") == 0


def test_the_expected_wait_is_said_before_and_during_an_ask(browser, tmp_path, data):
    with serving(tmp_path, data, delay=1.0) as service, listening(service.app) as url, tab(browser, url) as page:
        gate = service.open_gate(cutoff=20)
        sign_in(page, service.analyst)
        go(page, f"#/gates/{gate}")
        page.get_by_text("An answer takes about 1 s, whatever it is.").wait_for()
        with ThreadPoolExecutor() as pool:
            others = [pool.submit(service.ask, gate, NOBODY, token=role) for role in ("owner", "owner")]
            page.locator("#wait").get_by_text("1 question is before yours: about 2 s.").wait_for()
            page.get_by_label("Count where").fill(MANY)
            page.keyboard.press("Enter")
            page.locator("#asking-note").get_by_text("Asking… ").wait_for()
            page.locator("#latest strong").wait_for()
            assert [other.result().status_code for other in others] == [200, 200]
        assert page.locator("#asking-note").is_hidden()


def test_curly_quotes_are_explained_and_mended_before_anything_is_sent(at_gate):
    posts = []
    at_gate.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    box = at_gate.get_by_label("Count where")
    box.fill("country = ‘DE’ AND “page” = “/pay” OR page = 'it’s'")
    at_gate.keyboard.press("Enter")
    at_gate.get_by_role("status").get_by_text("curly quotes").wait_for()
    assert posts == []
    at_gate.keyboard.press("Enter")  # the button that mends is in focus
    assert box.input_value() == "country = 'DE' AND \"page\" = '/pay' OR page = 'it’s'"
    assert at_gate.locator("#where-note").is_hidden()


def test_a_wrong_condition_is_shown_where_it_is_wrong_and_asks_nothing(at_gate):
    box = at_gate.get_by_label("Count where")
    box.press_sequentially("cou")
    at_gate.get_by_role("option", name="country text").wait_for()
    at_gate.keyboard.press("ArrowDown")
    at_gate.keyboard.press("Enter")
    assert box.input_value() == "country ", "a column completes itself with the keyboard"
    box.fill("page = '/pay' AND contry = 'DE'")
    at_gate.keyboard.press("Enter")
    at_gate.locator("#where-wrong mark").wait_for()
    assert at_gate.locator("#where-wrong mark").text_content() == "contry"
    assert "nothing spent" in at_gate.locator("#ask-form [role=alert] span").text_content()
    assert box.get_attribute("aria-invalid") == "true"
    assert at_gate.locator("#answers tr").count() == 0


def test_markup_in_a_condition_is_text(at_gate, service):
    where = "country = '<script>alert(1)</script><img src=x onerror=alert(1)>'"
    alerts = []
    at_gate.on("dialog", lambda dialog: (alerts.append(dialog), dialog.dismiss()))
    service.ask(at_gate.gate, where)  # of others, it comes in by itself
    at_gate.locator("#answers td.code").get_by_text(where, exact=True).wait_for()
    at_gate.get_by_role("button", name="Copy as curl or Python").click()
    at_gate.get_by_role("button", name="Done").click()
    assert at_gate.evaluate("document.querySelectorAll('main script, main img').length") == 0
    assert alerts == []


def test_a_lost_answer_is_asked_for_again_under_the_same_key_and_paid_once(at_gate, service):
    keys = []

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        route.fetch()  # the service answers, and the answer is lost on its way
        route.abort()

    at_gate.route("**/ask", lose)
    at_gate.get_by_label("Count where").fill(MANY)
    at_gate.keyboard.press("Enter")
    again = at_gate.get_by_role("button", name="Ask again (same key)")
    again.wait_for()
    assert "not paid for twice" in at_gate.locator("#ask-form [role=alert]").filter(has_text="key").text_content()
    at_gate.reload()  # even then
    at_gate.unroute("**/ask")
    at_gate.on("request", lambda sent: keys.append(sent.headers["idempotency-key"]) if sent.method == "POST" else None)
    at_gate.get_by_text("its answer did not arrive").wait_for()
    again.click()
    at_gate.locator("#latest").get_by_text("It cost one ABOVE: 2 of 3 left.").wait_for()
    assert len(keys) >= 2
    assert len({*keys}) == 1
    assert service.send("GET", f"/v1/gates/{at_gate.gate}").json()["asked"] == 1
    ask(at_gate, MANY)  # a new question has a new key
    assert len({*keys}) == 2


def test_a_dead_server_is_noticed_within_two_seconds_and_so_is_its_return(browser, tmp_path):
    with visits(tmp_path) as data, serving(tmp_path, data) as made:
        gate = made.open_gate()
        with listening(made.app) as url:
            context = tab(browser, url)
            page = context.__enter__()
            sign_in(page, made.analyst)
            page.get_by_text("connected").wait_for()
            go(page, f"#/gates/{gate}")
            page.get_by_label("Count where").fill(MANY)
        began = time.monotonic()
        page.get_by_role("alert").get_by_text("has not answered since").wait_for()
        assert time.monotonic() - began < 2
        assert page.get_by_role("status").get_by_text("no connection").is_visible()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_role("button", name="Ask again (same key)").wait_for()
        assert page.get_by_label("Count where").input_value() == MANY
        with listening(made.app, port=int(url.rpartition(":")[2])):
            page.get_by_text("connected", exact=True).wait_for()
            page.get_by_role("button", name="Ask again (same key)").click()
            page.locator("#latest").get_by_text("It cost one ABOVE: 2 of 3 left.").wait_for()
            assert page.get_by_role("alert").filter(has_text="answered").count() == 0
            context.__exit__(None, None, None)


ODD = "page = 'it''s \"odd\", $HOME' OR country = 'DE'"


def test_no_cell_of_the_csv_is_a_formula(analyst):
    answer = {"number": 1, "at": "2030-01-01T00:00:00Z", "above": False, "estimate": -3}
    made = call(analyst, "answers.js", "asCsv", [answer | {"by": "=cmd", "where": '-1 < 2, "x"'}], ["@note"])
    number, _, _, word, estimate, *texts = next(csv.reader(io.StringIO(made.split("\r\n")[1])))
    assert (number, word, estimate, texts) == ("1", "below", "-3", [" =cmd", ' -1 < 2, "x"', " @note"])


def test_a_row_is_copied_as_curl_and_as_python_without_the_token(at_gate, service):
    ask(at_gate, ODD)
    at_gate.get_by_role("button", name="Copy as curl or Python").first.click()
    assert "new question" in at_gate.locator("#code-note").text_content()
    curl, python = (at_gate.locator("#code textarea").nth(place).input_value() for place in range(2))
    for text in (curl, python):
        assert service.analyst not in text
        assert "SPARSEGATE_TOKEN" in text
    words = shlex.split(curl.replace("\\\n", " "))
    assert words[3] == f"{service.url}/v1/gates/{at_gate.gate}/ask"
    assert json.loads(words[-1]) == {"where": ODD}
    assert compile(python, "recipe", "exec")
    at_gate.get_by_role("button", name="Copy Python").click()
    at_gate.get_by_role("button", name="Copied").wait_for()
    assert at_gate.evaluate("navigator.clipboard.readText()") == python
    at_gate.get_by_role("button", name="Done").click()


def sent(page, path):
    """The methods of the requests to a path from now on."""
    methods = []
    page.on("request", lambda request: methods.append(request.method) if request.url.endswith(path) else None)
    return methods


def test_margin_cost_and_a_plot_are_shown_while_typing_and_spend_nothing(owner, service):
    before, previews = service.keeper.budget().spent.epsilon, sent(owner, "/v1/preview")
    go(owner, "#/open")
    fill_gate(owner, Threshold=1000, Epsilon="0.5", **{"Cutoff (c)": 25})
    plan = service.send("POST", "/v1/preview", {"threshold": 1000, "cutoff": 25, "epsilon": "0.5"}).json()
    shown = str(owner.locator("#preview-list").text_content())
    for name in ("margin", "margin_all"):
        assert f"± {-(-plan[name] // 1):,.0f}, 95 % of the time" in shown
    assert "An ABOVE costs one of the gate's 25. A BELOW is free" in shown
    assert owner.locator("#warning").is_hidden()
    assert owner.get_by_role("button", name="Open, and reserve ε 0.5").is_visible()
    texts = owner.locator("#margin-plot text").all_text_contents()
    labels = {"epsilon of the gate (cost)", "margin ±", "threshold 1,000", f"± {-(-plan['margin'] // 1):,.0f}"}
    assert labels <= {*texts}
    for plot in ("#margin-plot", "#cutoff-plot"):
        assert owner.locator(f"{plot} .curve").get_attribute("d").count("L") >= 5
        chosen, curve = (owner.locator(f"{plot} {part}").bounding_box() for part in (".chosen", ".curve"))
        assert curve["x"] < chosen["x"] + chosen["width"] / 2 < curve["x"] + curve["width"], "it lies on its curve"
    owner.get_by_label("Epsilon", exact=True).press_sequentially("00001")
    owner.get_by_role("button", name="Open, and reserve ε 0.500001").wait_for()
    assert len(previews) <= 3, "typing is debounced"
    assert service.keeper.budget().spent.epsilon == before


def test_a_margin_above_the_threshold_is_warned_about_and_asked_about_again(owner, service):
    before, opened = service.keeper.budget().spent.epsilon, sent(owner, "/v1/gates")
    go(owner, "#/gates")
    go(owner, "#/open")
    fill_gate(owner, Threshold=5, Epsilon="0.5", **{"Cutoff (c)": 25})
    owner.locator("#warning").get_by_text("larger than the threshold").wait_for()
    assert "nobody at all" in owner.locator("#preview-list").text_content()
    owner.keyboard.press("Enter")
    owner.get_by_role("dialog").get_by_text("larger than the threshold").wait_for()
    owner.keyboard.press("Enter")  # what is in focus is no
    owner.get_by_role("dialog").wait_for(state="hidden")
    assert "POST" not in opened
    trouble = owner.locator("#open-form [role=alert]")
    for epsilon, told in (("0.0", "epsilon"), ("200000", "budget")):  # what is wrong is said beside the button
        owner.get_by_label("Epsilon", exact=True).fill(epsilon)
        if told == "budget":
            owner.get_by_role("button", name="Open, and reserve ε 200000").click()
            owner.get_by_role("button", name="Open it").click()
        trouble.get_by_text(told).wait_for()
    assert service.keeper.budget().spent.epsilon == before


def test_an_owner_opens_a_gate_asks_and_closes_it_with_the_keyboard_alone(owner, service):
    go(owner, "#/gates")
    go(owner, "#/open")
    owner.get_by_label("Name", exact=True).fill("Ward 7")
    owner.get_by_label("Description").fill("Seen in <b>2030</b>")
    fill_gate(owner)
    owner.keyboard.press("Enter")
    owner.get_by_role("heading", name="Ward 7").wait_for()
    assert owner.locator("#description").text_content() == "Seen in <b>2030</b>"
    assert [ask(owner, where).partition(" ")[0] for where in (MANY, NOBODY)] == ["ABOVE", "BELOW"]
    owner.get_by_text("2 of 3 ABOVE left. 2 asked, 0 lost.").wait_for()
    owner.get_by_role("button", name=f"Ask again: {MANY}").click()  # is a new question, and says that it costs
    owner.get_by_role("dialog").get_by_text("An ABOVE costs one of the gate's 3").wait_for()
    owner.get_by_role("button", name="Back").click()
    owner.get_by_role("button", name="Close this gate").focus()
    owner.keyboard.press("Enter")
    owner.get_by_role("dialog").wait_for()
    owner.keyboard.press("Tab")
    owner.keyboard.press("Enter")
    owner.get_by_text("Closed: it was closed by hand.").wait_for()
    assert owner.get_by_role("button", name="Ask", exact=True).is_hidden()
    go(owner, "#/activity")  # who asked what, and a link to the gate
    line = owner.locator("#activity tr").filter(has_text="Ward 7").first
    line.wait_for()
    assert all(part in line.text_content() for part in ("olga", "BELOW", NOBODY))
    line.get_by_role("link").click()
    owner.reload()
    owner.get_by_role("heading", name="Ward 7").wait_for()


def test_the_budget_has_its_entries_and_a_chart_of_spending(browser, tmp_path, data):
    with serving(tmp_path, data) as service, listening(service.app) as url, tab(browser, url) as owner:
        sign_in(owner, service.owner)
        gate = service.open_gate(name="spent")
        service.ask(gate, MANY)
        service.send("DELETE", f"/v1/gates/{gate}")
        go(owner, "#/budget")
        owner.locator("#entries tr").first.wait_for()
        statement = service.keeper.budget()
        assert owner.locator("#entries tr").count() == len(statement.entries)
        kinds = owner.locator("#entries td:nth-child(3)").all_text_contents()
        assert kinds == ["given back", "spent", "budget set to"]
        links = owner.locator("#entries a").evaluate_all("all => all.map(a => a.hash)")
        assert links == [f"#/gates/{gate}"] * 2, "what a gate cost and gave back leads to it"
        spent = exact_text(statement.spent.epsilon)
        exact = owner.locator("#spent .amount").first
        assert spent in (exact.get_attribute("title"), exact.text_content())
        assert owner.locator("#spent-meter").get_attribute("max") == "1000"
        assert {"time", "epsilon", "budget", "spent or reserved"} <= {
            *owner.locator("#spending text").all_text_contents()
        }
        drawn = owner.locator("#spending .curve").get_attribute("d")
        # Up by the whole gate, and down by what it gave back; one step each.
        heights = [float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", drawn)]
        zero, top, end = heights[0], min(heights), heights[-1]
        assert zero > end > top
        assert (zero - end) / (zero - top) == pytest.approx(float(statement.spent.epsilon) / 100, abs=0.02)


def test_a_token_is_made_with_its_limits_shown_once_and_revoked(browser, owner, service):
    go(owner, "#/tokens")
    owner.get_by_label("Whose").fill("bert <b>")
    owner.get_by_label("Expires").fill("2040-01-31T12:00")
    owner.get_by_label("At most this many ABOVE").fill("7")
    assert owner.get_by_label("At most this much epsilon").is_hidden(), "an analyst charges nothing"
    owner.keyboard.press("Enter")
    shown = owner.get_by_label("The token of bert <b>")
    shown.wait_for()
    text = shown.input_value()
    line = owner.locator("#token-list tr").filter(has_text="bert <b>")
    line.wait_for()
    assert "0 of 7 ABOVE" in line.text_content()
    assert line.locator("time").nth(1).get_attribute("title") == "2040-01-31 11:00:00 UTC"
    assert service.send("GET", "/v1/whoami", token=text).json()["quota"]["most_above"] == 7
    owner.get_by_role("button", name="Done, hide it").click()
    owner.reload()
    line.wait_for()
    assert text not in owner.content()
    with tab(browser, service.url) as other:
        sign_in(other, text)
        line.get_by_role("button", name="Revoke").click()
        owner.get_by_role("button", name="Revoke it").click()
        line.get_by_text("revoked").wait_for()
        other.get_by_label("Token").wait_for()
    owner.get_by_label("Whose").fill("bert <b>")
    owner.keyboard.press("Enter")
    owner.locator("#token-form [role=alert]").get_by_text("name").wait_for()


def test_anybody_practises_on_made_up_data_and_it_costs_nothing(page, service):
    before = service.keeper.budget().spent.epsilon
    sign_in(page, service.analyst)
    page.get_by_role("link", name="Practice").click()
    page.locator("#practice-note").get_by_text("made-up").wait_for()
    page.get_by_role("link", name="Open a gate").click()
    fill_gate(page, Threshold=1)
    assert "Nothing: this is practice" in page.locator("#preview-list").text_content()
    page.get_by_role("button", name="Open (free)").click()
    page.get_by_role("button", name="Ask", exact=True).wait_for()
    assert page.url.startswith(f"{service.url}/#/practice/gates/g-")
    assert ask(page, "country IS NULL OR country IS NOT NULL").startswith("ABOVE")
    page.reload()
    page.locator("#answers td.code").get_by_text("country IS NOT NULL").wait_for()
    assert service.keeper.budget().spent.epsilon == before
