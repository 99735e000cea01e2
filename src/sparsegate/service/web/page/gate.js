// One gate: where it stands, what its answers mean, its question box and its answers.

import { get, remove } from "./api.js";
import { showAnswers } from "./answers.js";
import { showAsking } from "./ask.js";
import { copyButton, sure } from "./dialogs.js";
import { when } from "./figures.js";
import { title } from "./gates.js";
import { aboveMeans, belowMeans, closing, costs, question, standing, together } from "./meaning.js";
import { isOwner, session } from "./session.js";

const AGAIN = 1000;
const AGAIN_IN_PRACTICE = 10_000; // practice starts anew after a number of requests

export async function showGate(view, place, id) {
  const { at, signal } = view;
  const address = `${place.api}/gates/${id}`;
  const listeners = [];
  // What the parts of the view share.
  const shared = { address, id, place, gate: null, whenHeard: (listener) => listeners.push(listener), refresh };

  at("back").href = `${place.hash}/gates`;
  at("link").replaceWith(copyButton("Copy link", () => `${location.origin}/${place.hash}/gates/${id}`));

  async function refresh() {
    const gate = await get(address, signal);
    if (signal.aborted) return;
    const changed = JSON.stringify(gate) !== JSON.stringify(shared.gate);
    shared.gate = gate;
    if (changed) tell(gate);
    for (const listener of listeners) listener(gate);
  }

  function tell(gate) {
    at("title").textContent = title(gate);
    document.title = `${title(gate)} · sparsegate`;
    at("description").textContent = gate.description ?? "";
    at("origin").replaceChildren(`${id}, opened `, when(gate.opened_at), gate.opened_by ? ` by ${gate.opened_by}` : "");
    at("question").textContent = question(gate);
    at("standing").textContent = standing(gate, shared.rule);
    const words = { "above-means": aboveMeans, "below-means": belowMeans, together, costs };
    for (const [name, says] of Object.entries(words)) at(name).textContent = says(gate);
    at("close-gate").hidden = gate.closed || !(isOwner() || place.practice);
  }

  at("close-gate").addEventListener("click", async () => {
    if (!(await sure(`Close this gate for good? ${closing(shared.gate, shared.rule)}`, "Close it"))) return;
    at("gate-trouble").textContent = "";
    try {
      await remove(address);
      await refresh();
      at("title").focus();
    } catch (problem) {
      at("gate-trouble").textContent = problem.message;
    }
  });

  const { columns, delay, rule } = place.practice ? await get(`${place.api}/schema`, signal) : session.served;
  Object.assign(shared, { columns, delay, rule });
  await refresh();
  if (signal.aborted) return;
  showAsking(view, shared);
  await showAnswers(view, shared);

  // Others may ask at the same gate: what they hear comes in here.
  let looking = false; // a service that hangs is not asked again and again
  const timer = setInterval(async () => {
    if (document.hidden || looking) return;
    looking = true;
    await (shared.asking ? get(address, signal).then((gate) => shared.asking && shared.expect(gate)) : refresh()).catch(() => null);
    looking = false;
  }, place.practice ? AGAIN_IN_PRACTICE : AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer));
}
