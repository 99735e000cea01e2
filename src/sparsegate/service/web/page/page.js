// The page of the service: one file, no library. Everything it shows comes from /v1, and is put in as text, never as markup.

const REFRESH = 2000;
const KEPT = 500; // answers kept in the table and the plot
const PART = 1000; // answers that the service sends at once

const state = { token: sessionStorage.getItem("token"), owner: false, gate: null, answers: [], columns: [] };
const at = (id) => document.getElementById(id);

class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `the service answered ${status}`);
    this.body = body;
    this.status = status;
  }
}

async function call(method, path, body, key) {
  const headers = { Authorization: `Bearer ${state.token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method === "POST") headers["Idempotency-Key"] = key ?? newKey();
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const answer = response.status === 204 ? null : await response.json();
  if (!response.ok) throw new Problem(answer, response.status);
  return answer;
}

function newKey() {
  // Not randomUUID: that exists only on https and on this machine itself.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// A lost connection says nothing about what became of the question: the same key gets the answer that was stored.
async function post(path, body) {
  const key = newKey();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call("POST", path, body, key);
    } catch (problem) {
      if (problem instanceof Problem || attempt === 4) throw problem;
      await new Promise((done) => setTimeout(done, 300 * attempt));
    }
  }
}

function show(id, visible) { at(id).hidden = !visible; }

function notice(text) {
  at("notice").textContent = text || "";
  show("notice", Boolean(text));
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function enter() {
  const served = await call("GET", "/v1/schema");
  state.columns = served.columns;
  at("dataset").textContent = `${served.dataset}: counts of ${served.unit === "user" ? "people" : "rows"}`;
  at("columns").replaceChildren(...served.columns.map((column) => element("code", `${column.name} (${column.kind})`)));
  state.owner = await budget();
  sessionStorage.setItem("token", state.token);
  for (const [id, visible] of [["enter", false], ["leave", true], ["gates", true], ["open", state.owner], ["budget", state.owner]]) {
    show(id, visible);
  }
  show("close-gate", state.owner);
  await gates();
}

async function budget() {
  let found;
  try {
    found = await call("GET", "/v1/budget");
  } catch (problem) {
    if (problem.status === 403) return false;
    throw problem;
  }
  const meter = at("spent-meter");
  meter.max = Number(found.budget.epsilon);
  meter.value = Number(found.spent.epsilon);
  const delta = found.budget.delta === "0" ? "" : `; δ ${found.spent.delta} of ${found.budget.delta}`;
  at("spent").textContent =
    `ε ${found.spent.epsilon} of ${found.budget.epsilon} spent or reserved, ${found.remaining.epsilon} left${delta}`;
  return true;
}

async function gates() {
  const found = await call("GET", "/v1/gates");
  show("no-gates", found.length === 0);
  const focused = document.activeElement?.dataset?.gate;
  at("gate-list").replaceChildren(...found.map((gate) => {
    const button = element("button", `${gate.id}: above ${gate.threshold}? `, gate.closed ? "shut" : "");
    button.append(gate.closed ? "closed" : `${gate.remaining} of ${gate.cutoff} left`);
    button.type = "button";
    button.dataset.gate = gate.id;
    button.addEventListener("click", () => attempt(() => choose(gate.id)));
    const item = element("li");
    item.append(button);
    return item;
  }));
  if (focused) document.querySelector(`[data-gate="${focused}"]`)?.focus();
  if (!state.gate && found.length && !found[0].closed) await choose(found[0].id, false);
  mark();
}

function mark() {
  for (const button of document.querySelectorAll("[data-gate]")) {
    if (button.dataset.gate === state.gate?.id) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

async function choose(id, focus = true) {
  state.gate = await call("GET", `/v1/gates/${id}`);
  state.answers = [];
  at("answers").replaceChildren();
  at("latest").textContent = "";
  show("gate", true);
  mark();
  await refresh();
  if (focus && !state.gate.closed) at("where").focus();
}

async function refresh() {
  const id = state.gate.id;
  const after = state.answers.at(-1)?.number ?? 0;
  const gate = await call("GET", `/v1/gates/${id}`);
  const fresh = [];
  for (let part = null; part === null || part.length >= PART; fresh.push(...part)) {
    part = await call("GET", `/v1/gates/${id}/answers?after=${fresh.at(-1)?.number ?? after}`);
  }
  if (state.gate.id !== id) return;
  state.gate = gate;
  at("gate-title").textContent = `Gate ${id}`;
  const margin = `right ${Math.round(100 * gate.confidence)} % of the time for counts ${gate.margin} or more away from it`;
  const cost = `ε ${gate.spent} of ${gate.epsilon} spent, `;
  at("gate-state").textContent = gate.closed
    ? `Closed: ${gate.because}. ${cost}${gate.given_back} given back.`
    : `Above ${gate.threshold}? ${gate.remaining} of ${gate.cutoff} ${gate.closes === "rarer" ? "of the rarer answer" : "positive answers"} left; ${cost}${gate.reserved} reserved; ${gate.asked} asked` +
      `${gate.lost ? `, ${gate.lost} lost` : ""}; ${margin}.`;
  at("ask").disabled = at("where").disabled = gate.closed;
  at("close-gate").disabled = gate.closed;
  const seen = state.answers.at(-1)?.number ?? 0; // a refresh that overtook this one
  const news = fresh.filter((answer) => answer.number > seen);
  state.answers = [...state.answers, ...news].slice(-KEPT);
  for (const answer of news) at("answers").prepend(row(answer, after > 0));
  while (at("answers").children.length > KEPT) at("answers").lastChild.remove();
  plot();
}

const word = (above) => (above === null ? "lost" : above ? "above" : "below");

function row(answer, isNew) {
  const made = element("tr", undefined, isNew ? "new" : "");
  const time = element("td");
  const stamp = element("time", new Date(answer.at).toLocaleTimeString());
  stamp.dateTime = answer.at;
  time.append(stamp);
  const about = answer.estimate === null ? "" : ` ≈ ${answer.estimate}`;
  const said = element("td", word(answer.above).toUpperCase() + about, word(answer.above));
  made.append(element("td", answer.number), time, said, element("td", answer.where));
  return made;
}

function plot() {
  const space = "http://www.w3.org/2000/svg";
  const draw = (name, attributes) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const heights = { above: 24, lost: 48, below: 72 };
  const marks = Object.values(heights).map((y) => draw("line", { x1: 0, x2: 640, y1: y, y2: y }));
  const times = state.answers.map((answer) => Date.parse(answer.at));
  const first = times[0];
  const span = Math.max(times.at(-1) - first, 1);
  const one = times.at(-1) === first;
  state.answers.forEach((answer, place) => {
    // In the same second, one after another; a path of no length is drawn as a round dot however the plot is stretched.
    const x = one ? 20 + (600 * place) / Math.max(state.answers.length - 1, 1) : 20 + (600 * (times[place] - first)) / span;
    marks.push(draw("path", { d: `M${x.toFixed(1)} ${heights[word(answer.above)]}h0`, class: word(answer.above) }));
  });
  at("plot").replaceChildren(...marks);
  const count = (name) => state.answers.filter((answer) => word(answer.above) === name).length;
  at("plot-title").textContent = state.answers.length
    ? `Answers against time: ${count("above")} above (top), ${count("below")} below (bottom), ${count("lost")} lost; ` +
      `${new Date(first).toLocaleTimeString()} to ${new Date(times.at(-1)).toLocaleTimeString()}`
    : "Answers against time: none yet";
}

function wrong(problem, text) {
  const place = at("where-wrong");
  place.replaceChildren();
  const { start, end } = problem?.body ?? {};
  const located = Number.isInteger(start) && Number.isInteger(end);
  show("where-wrong", located);
  at("where").setAttribute("aria-invalid", String(located));
  if (!located) return false;
  // The service counts characters, a browser counts units of UTF-16.
  const marks = Array.from(text);
  const cut = Math.max(end, start + 1);
  place.append(marks.slice(0, start).join(""), element("mark", marks.slice(start, cut).join("") || "⟂"), marks.slice(cut).join(""));
  place.append(element("span", problem.message));
  return true;
}

async function ask(event) {
  event.preventDefault();
  const where = at("where").value.trim();
  if (!where || at("ask").disabled) return;
  at("ask").disabled = true;
  at("latest").className = "";
  at("latest").textContent = "asking…";
  wrong(null, "");
  notice("");
  try {
    const answer = await post(`/v1/gates/${state.gate.id}/ask`, { where });
    const about = answer.estimate === null ? "" : `, about ${answer.estimate} ± ${Math.ceil(answer.standard_error)}`;
    at("latest").textContent = answer.above ? `ABOVE${about}` : "below";
    at("latest").className = word(answer.above);
  } catch (problem) {
    at("latest").textContent = "";
    if (!wrong(problem, where)) fail(problem);
  } finally {
    at("ask").disabled = state.gate.closed;
  }
  await attempt(async () => { await refresh(); await gates(); });
}

async function open(event) {
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(at("open-form")));
  const body = { threshold: Number(fields.threshold), cutoff: Number(fields.cutoff), epsilon: fields.epsilon };
  if (fields.queries) body.queries = Number(fields.queries);
  if (fields.closes !== "above") body.closes = fields.closes;
  await attempt(async () => {
    const gate = await post("/v1/gates", body);
    at("open-form").reset();
    await budget();
    await choose(gate.id);
    await gates();
  });
}

async function attempt(work) {
  try {
    await work();
    notice("");
  } catch (problem) {
    fail(problem);
  }
}

function fail(problem) {
  if (problem.status === 401) return leave("This token is not known here, or was revoked.");
  notice(problem instanceof Problem ? problem.message : "The service cannot be reached; what was asked may have been answered.");
}

function leave(text) {
  sessionStorage.removeItem("token");
  Object.assign(state, { token: null, gate: null, answers: [], owner: false });
  for (const id of ["leave", "gates", "gate", "open", "budget"]) show(id, false);
  show("enter", true);
  notice(text);
  document.querySelector("#enter-form input").focus();
}

at("enter-form").addEventListener("submit", (event) => {
  event.preventDefault();
  state.token = new FormData(event.target).get("token").trim();
  event.target.reset();
  attempt(enter);
});
at("leave").addEventListener("click", () => leave(""));
at("open-form").addEventListener("submit", open);
at("ask-form").addEventListener("submit", ask);
at("where").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    at("ask-form").requestSubmit();
  }
});
at("close-gate").addEventListener("click", () => at("sure").showModal());
at("sure").addEventListener("close", () => {
  if (at("sure").returnValue !== "yes") return;
  attempt(async () => {
    await call("DELETE", `/v1/gates/${state.gate.id}`);
    await budget();
    await refresh();
    await gates();
  });
});

// Others may ask at the same gate: their answers come in here.
setInterval(() => {
  if (state.gate && !document.hidden && !at("ask").disabled) attemptQuietly(refresh);
}, REFRESH);

async function attemptQuietly(work) {
  try { await work(); } catch (problem) { if (problem.status === 401) fail(problem); }
}

if (state.token) attempt(enter);
