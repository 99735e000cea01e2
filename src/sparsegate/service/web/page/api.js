// Requests to the service.
//
// A lost connection says nothing about what became of a request. So whatever spends is sent under a key that is kept
// until an answer has arrived: sent again, by itself, by hand or after a reload, it gets the answer that was stored.

const ATTEMPTS = 3;
const SETTLED = new Set(["outcome-lost", "request-lost"]);
const UNANSWERED = "unanswered ";

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `the service answered ${status}`);
    Object.assign(this, { body, status });
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
  }
}

// "heard": something was answered. "lost": nothing was. "refused": the token is not good any more.
export const line = new EventTarget();

let token = null;

export function useToken(text) { token = text; }

async function request(method, path, { body, key, signal } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const sent = token;
  let response, answer;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    answer = response.status === 204 ? null : await response.json();
  } catch (problem) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw problem;
    // A proxy whose service is gone answers, but not in JSON.
    line.dispatchEvent(new Event("lost"));
    throw new Unreachable();
  }
  line.dispatchEvent(new Event("heard"));
  if (response.status === 401 && token === sent) line.dispatchEvent(new Event("refused"));
  if (!response.ok) throw new Problem(answer, response.status);
  return { answer, response };
}

export async function get(path, signal) { return (await request("GET", path, { signal })).answer; }

export async function remove(path) { return (await request("DELETE", path)).answer; }

// What spends nothing needs no key, and is not sent again by itself.
export async function inquire(path, body, signal) { return (await request("POST", path, { body, signal })).answer; }

// One page of a list, and where the next one is.
export async function getPage(path, signal) {
  const { answer, response } = await request("GET", path, { signal });
  const found = /<([^>]*)>;\s*rel="?next"?/.exec(response.headers.get("Link") ?? "");
  // Behind a proxy the service may not know how it is reached: its path and query are enough.
  const next = found && new URL(found[1], location);
  return { rows: answer, next: next && next.pathname + next.search };
}

// Not randomUUID: that exists only on https and on this machine itself.
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Send what spends. The same body to the same place, before an answer to it has arrived, has the same key.
export async function post(path, body, signal) {
  const kept = unanswered(path);
  const key = kept && JSON.stringify(kept.body) === JSON.stringify(body) ? kept.key : newKey();
  sessionStorage.setItem(UNANSWERED + path, JSON.stringify({ body, key }));
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { answer } = await request("POST", path, { body, key, signal });
      forget(path);
      return answer;
    } catch (problem) {
      if (problem instanceof Problem && (problem.status < 500 || SETTLED.has(problem.body.type))) forget(path);
      if (!(problem instanceof Unreachable) || attempt === ATTEMPTS) throw problem;
      await new Promise((done) => setTimeout(done, 250 * attempt));
    }
  }
}

// What was sent there and is not answered: its body and its key; or null.
export function unanswered(path) { return JSON.parse(sessionStorage.getItem(UNANSWERED + path)); }

export function forget(path) { sessionStorage.removeItem(UNANSWERED + path); }
