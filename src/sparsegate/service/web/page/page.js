// The page of the service: where one is, who is there, and what is shown. Every view is made anew from its template, and
// what it holds goes with it.

import { get, line, Problem } from "./api.js";
import { showActivity, showTokens } from "./tokens.js";
import { showBudget } from "./budget.js";
import { startAsking, stopAsking, watchConnection } from "./connection.js";
import { closeDialogs, sure } from "./dialogs.js";
import { element } from "./elements.js";
import { count, short, when } from "./figures.js";
import { showGate } from "./gate.js";
import { showGates } from "./gates.js";
import { forgetKept, kept } from "./kept.js";
import { showOpening } from "./opening.js";
import { counted, isOwner, session, signIn, signOut, storedToken, tokenIn } from "./session.js";

const REAL = { api: "/v1", hash: "#", practice: false };
const PRACTICE = { api: "/v1/practice", hash: "#/practice", practice: true };
const ROUTES = [
  [/^#\/gates$/, "gates", showGates, REAL],
  [/^#\/gates\/(g-[0-9a-f]{16})$/, "gate", showGate, REAL],
  [/^#\/open$/, "open", showOpening, REAL, "owner"],
  [/^#\/practice(?:\/gates)?$/, "gates", showGates, PRACTICE],
  [/^#\/practice\/gates\/(g-[0-9a-f]{16})$/, "gate", showGate, PRACTICE],
  [/^#\/practice\/open$/, "open", showOpening, PRACTICE],
  [/^#\/budget$/, "budget", showBudget, REAL, "owner"],
  [/^#\/tokens$/, "tokens", showTokens, REAL, "owner"],
  [/^#\/activity$/, "activity", showActivity, REAL, "owner"],
  [/^#\/me$/, "me", showMe, REAL],
];

const at = (id) => document.getElementById(id);
let current = new AbortController();

// A new view in place of the old one, whose requests and timers end.
function view(name) {
  current.abort();
  current = new AbortController();
  closeDialogs();
  at("main").replaceChildren(at(`view-${name}`).content.cloneNode(true));
  return { at: (id) => at("main").querySelector(`#${id}`), signal: current.signal };
}

async function show(focus = true) {
  if (!session.who) return showEntrance();
  at("notice").textContent = "";
  const found = ROUTES.find(([pattern, , , , role]) => pattern.test(location.hash) && (role !== "owner" || isOwner()));
  if (!found) return location.replace("#/gates");
  const [pattern, name, fill, place] = found;
  const made = view(name);
  for (const link of at("nav").children) {
    const here = location.hash.replace(/^#\/open$/, "#/gates").startsWith(link.getAttribute("href"));
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const note = made.at("practice-note");
  if (note) note.hidden = !place.practice;
  document.title = `${made.at("title").textContent} · sparsegate`;
  if (focus) made.at("title").focus();
  try {
    await fill(made, place, ...pattern.exec(location.hash).slice(1));
  } catch (problem) {
    if (!made.signal.aborted && problem.status !== 401) at("notice").textContent = problem.message;
  }
}

function showEntrance() {
  const made = view("enter");
  document.title = "Sign in · sparsegate";
  const input = made.at("token");
  input.focus();
  const hint = () => {
    const text = input.value;
    const clean = tokenIn(text);
    made.at("token-note").replaceChildren();
    if (!text || text.trim() === clean || !/[^\w\s-]|\s\S/.test(text.trim())) return;
    made.at("token-note").append(
      "There are quotes or other signs in this that no token has: letters and chats turn straight quotes into curly ones (“ ”), and break lines. ",
      clean
        ? element("button", { type: "button", class: "plain", on: { click: () => { input.value = clean; hint(); input.focus(); } } }, "Take the token alone")
        : "Copy the token alone, from sg_ on.",
    );
  };
  input.addEventListener("input", hint);
  made.at("enter-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    made.at("enter").disabled = true;
    made.at("enter-trouble").textContent = "";
    try {
      await enter(input.value.trim());
    } catch (problem) {
      signOut();
      made.at("enter-trouble").textContent = problem.status === 401
        ? "This token is not known here, has expired or was revoked. Ask the owner of the service for a new one."
        : problem.message;
      made.at("enter").disabled = false;
      input.focus();
    }
  });
}

async function enter(text) {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Problem({ detail: "This is not a token: it holds signs that no token has." }, 0);
  await signIn(text);
  at("dataset").textContent = `${session.served.dataset}: counts of ${counted()}`;
  const { name, role } = session.who;
  at("who").textContent = name === role ? name : `${name} (${role})`;
  for (const link of at("nav").querySelectorAll("[data-owner]")) link.hidden = !isOwner();
  for (const id of ["who", "leave", "nav"]) at(id).hidden = false;
  startAsking();
  if (!location.hash) history.replaceState(null, "", "#/gates");
  await show(false);
}

// Sign out: nothing of what was shown, kept or known stays.
function leave(words = "") {
  signOut();
  stopAsking();
  at("dataset").textContent = "which counts are above a threshold, privately";
  at("who").textContent = "";
  for (const id of ["who", "leave", "nav"]) at(id).hidden = true;
  at("notice").textContent = words;
  showEntrance();
}

async function showMe(made) {
  session.who = await get("/v1/whoami", made.signal);
  if (made.signal.aborted) return;
  const { name, role, expires_at: expires, quota } = session.who;
  const used = (most, now, shown) => (most === null || most === undefined ? `${shown(now ?? 0)} so far; no limit` : `${shown(now)} of ${shown(most)}`);
  const facts = [
    ["Name", name],
    ["Role", role === "owner" ? "owner: opens and closes gates, sees the budget, makes tokens" : "analyst: asks the gates that are open"],
    ["Expires", when(expires)],
    ["ABOVE answers", used(quota?.most_above, quota?.above, count)],
    ["Epsilon", used(quota?.most_epsilon, quota?.epsilon, (amount) => short(String(amount)))],
    ["Data", `${session.served.dataset}, counts of ${counted()}`],
  ];
  const tell = () => {
    const { conditions, notes } = kept();
    made.at("kept").textContent = `This browser keeps for you: saved conditions, ${count(conditions.size)}; notes on answers, ${count(notes.size)}.`;
    made.at("forget").disabled = !conditions.size && !notes.size;
  };
  made.at("forget").addEventListener("click", async () => {
    if (!(await sure("Delete the saved conditions and notes of this token from this browser?", "Delete them"))) return;
    forgetKept();
    tell();
    made.at("title").focus();
  });
  tell();
  made.at("me").append(...facts.flatMap(([term, fact]) => [element("dt", {}, term), element("dd", {}, fact)]));
}

addEventListener("hashchange", () => show());
line.addEventListener("refused", () => { if (session.who) leave("This token is not known here any more: it has expired or was revoked."); });
at("skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); }); // the address stays
at("leave").addEventListener("click", () => { history.replaceState(null, "", "#/gates"); leave(); });
watchConnection();

if (storedToken()) {
  enter(storedToken()).catch((problem) => {
    if (problem.status === 401) return leave("This token is not known here any more: it has expired or was revoked.");
    // The token is not to blame: it is kept, and a reload tries again.
    at("notice").textContent = `${problem.message} Reload the page to try again.`;
  });
} else showEntrance();
