// The list of gates: search, filter, and no more in the page at once than a browser carries easily.

import { getPage } from "./api.js";
import { element } from "./elements.js";
import { count, when } from "./figures.js";
import { left, question } from "./meaning.js";
import { isOwner } from "./session.js";

const PART = 100; // gates that are sent at once, and that are shown at once
const AGAIN = 10_000;
const QUERIES = { open: "closed=false&", closed: "closed=true&", all: "" };

export async function showGates(view, place) {
  const { at, signal } = view;
  let known = new Map(); // by name, newest first
  let shown = PART;

  if (place.practice) at("title").textContent = "Practice gates";
  document.title = `${at("title").textContent} · sparsegate`;
  at("open-link").href = `${place.hash}/open`;
  at("open-link").hidden = !(isOwner() || place.practice);

  const first = () => `${place.api}/gates?${QUERIES[at("filter").value]}limit=${PART}`;

  // All of them, part by part, so that the search finds what is old as well.
  async function load() {
    const filter = at("filter").value;
    known = new Map();
    at("gate-list").replaceChildren();
    at("found").textContent = "looking…";
    for (let next = first(); next; ) {
      const page = await getPage(next, signal);
      if (signal.aborted || at("filter").value !== filter) return;
      for (const gate of page.rows) known.set(gate.id, gate);
      next = page.next;
      list(next !== null);
    }
  }

  // The newest part again: what others opened meanwhile, and where the gates stand.
  async function refresh() {
    if (document.hidden) return;
    const filter = at("filter").value;
    const { rows } = await getPage(first(), signal);
    if (signal.aborted || at("filter").value !== filter) return;
    known = new Map([...rows.map((gate) => [gate.id, gate]), ...[...known].filter(([id]) => !rows.some((gate) => gate.id === id))]);
    list();
  }

  function list(more = false) {
    const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...known.values()].filter((gate) => words.every((word) => matches(gate, word)));
    const focused = document.activeElement?.dataset?.gate;
    at("gate-list").replaceChildren(...found.slice(0, shown).map((gate) => item(gate, place)));
    if (focused) at("gate-list").querySelector(`[data-gate="${focused}"]`)?.focus();
    at("more").hidden = found.length <= shown;
    const number = `${count(found.length)} ${found.length === 1 ? "gate" : "gates"}`;
    at("found").textContent = found.length > shown ? `${number}, the newest ${count(shown)} shown` : more ? `${number}, more are coming` : number;
    if (!known.size && !more) {
      at("found").textContent = at("filter").value === "closed" ? "No gate is closed." : isOwner() || place.practice
        ? "No gate is open. Open one, then ask it." : "No gate is open. The owner of the service opens them.";
    }
  }

  const failed = (problem) => { if (!signal.aborted) at("found").textContent = problem.message; };
  at("find").addEventListener("submit", (event) => event.preventDefault());
  at("search").addEventListener("input", () => { shown = PART; list(); });
  at("filter").addEventListener("change", () => { shown = PART; load().catch(failed); });
  at("more").addEventListener("click", () => { shown += PART; list(); });
  const timer = setInterval(() => refresh().catch(() => null), AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer));
  await load();
}

export const title = (gate) => gate.name || `Gate ${gate.id}`;

// The name of a gate is hexadecimal: any digit is in most of them, so it is matched from its start.
const matches = (gate, word) =>
  `${gate.name} ${gate.description} ${gate.opened_by ?? ""}`.toLowerCase().includes(word) || gate.id.startsWith(word) || String(gate.threshold) === word;

function item(gate, place) {
  const state = gate.closed ? "closed" : left(gate);
  return element("li", { class: gate.closed ? "shut" : null },
    element("a", { href: `${place.hash}/gates/${gate.id}`, "data-gate": gate.id },
      element("span", { class: "name" }, title(gate)),
      element("span", { class: "state" }, state),
      element("span", { class: "quiet" }, `${question(gate)} ${gate.description ?? ""}`),
      element("span", { class: "quiet opened" }, "opened ", when(gate.opened_at), gate.opened_by ? ` by ${gate.opened_by}` : "")));
}
