// Whether the service answers. A page that is in use asks about once a second, one that is only in sight more rarely, one
// that is not in sight not at all; every other answer counts as well. It asks with the token, so that one
// that is revoked shows, and a proxy that bounds requests of an address need not tell people apart.

import { get, line, Unreachable } from "./api.js";
import { local } from "./figures.js";

const IN_USE = 800;
const IN_SIGHT = 5000;
const PATIENCE = 1000;

let heard = 0; // when something was answered
let since = null; // when it was first not
let timer = null;

export function watchConnection() {
  line.addEventListener("heard", () => { heard = Date.now(); since = null; show(); });
  line.addEventListener("lost", () => { since ??= Date.now(); show(); });
  for (const name of ["visibilitychange", "focus"]) {
    document.defaultView.addEventListener(name, () => { if (timer !== null) startAsking(); }, true);
  }
}

export function startAsking() {
  clearTimeout(timer);
  timer = setTimeout(ask, 0);
}

export function stopAsking() {
  clearTimeout(timer);
  timer = since = null;
  document.getElementById("connection").textContent = "";
  document.getElementById("gone").textContent = "";
}

async function ask() {
  const rest = document.hasFocus() ? IN_USE : IN_SIGHT;
  if (!document.hidden && Date.now() - heard >= rest) {
    try {
      await get("/v1/schema", AbortSignal.timeout(PATIENCE));
    } catch (problem) {
      if (!(problem instanceof Unreachable)) heard = Date.now();
    }
  }
  if (timer !== null) timer = setTimeout(ask, Math.max(rest - (Date.now() - heard), 200));
}

function show() {
  if (timer === null) return;
  const place = document.getElementById("connection");
  place.textContent = since ? "no connection" : "connected";
  place.className = since ? "gone" : "";
  const words = since
    ? `The service has not answered since ${local(since)}. Trying again by itself. What you typed stays here; what was ` +
      "sent keeps its key, so asking it again is not paid for twice."
    : "";
  const notice = document.getElementById("gone");
  if (notice.textContent !== words) notice.textContent = words;
}
