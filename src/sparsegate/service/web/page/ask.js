// Asking: the button, what became of the question, and the same question again where its answer did not arrive.

import { forget, line, post, Problem, unanswered, Unreachable } from "./api.js";
import { conditionBox } from "./condition.js";
import { sure } from "./dialogs.js";
import { element } from "./elements.js";
import { answerMeans, costs, expected } from "./meaning.js";

export function showAsking(view, shared) {
  const { at, signal } = view;
  const address = `${shared.address}/ask`;
  const box = conditionBox(view, shared.columns, () => at("ask-form").requestSubmit());
  at("operators").open = !shared.gate.asked && matchMedia("(min-width: 52rem)").matches; // there is room, and it is news
  let sending = null; // to give one up, and send it again

  function permit() {
    // At a gate for each cell a question names its cell: a client asks it.
    at("ask").disabled = at("where").disabled = shared.gate.closed || shared.gate.per !== null || sending !== null;
    at("asking").hidden = shared.gate.closed && !at("latest").textContent;
    at("ask-form").classList.toggle("shut", shared.gate.closed);
  }

  // How long an answer takes, by public numbers: D, and how many are before it at this gate.
  shared.expect = ({ ahead, closed }) => {
    const words = expected(shared.delay, ahead ?? 0);
    at("wait").textContent = closed || sending ? "" : words;
    if (sending) at("asking-note").textContent = `Asking… ${words}`;
  };

  // A question that was sent and is not answered, here or before a reload.
  function offer(words) {
    const waiting = unanswered(address);
    at("again").hidden = !waiting;
    if (!waiting) return;
    at("ask-trouble").textContent = `${words} Its answer may be stored. Ask again: it goes under the same key, so it gets that answer and is not paid for twice.`;
    at("again").textContent = "Ask again (same key)";
  }

  function wrong(problem, text) {
    const place = at("where-wrong");
    place.replaceChildren();
    const { start, end } = problem?.body ?? {};
    const located = Number.isInteger(start) && Number.isInteger(end);
    at("where").setAttribute("aria-invalid", String(located));
    if (!located) return false;
    // The service counts characters, a browser counts units of UTF-16.
    const marks = Array.from(text);
    const cut = Math.max(end, start + 1);
    const marked = element("mark", {}, marks.slice(start, cut).join("") || "⟂");
    place.append(element("span", {}, `${problem.message}. Nothing was asked, and nothing spent.`));
    place.append(element("code", {}, marks.slice(0, start).join(""), marked, marks.slice(cut).join("")));
    return true;
  }

  function tell(answer) {
    const word = answer.above ? "above" : "below";
    const about = answer.estimate === null || answer.estimate === undefined ? "" : ` ≈ ${answer.estimate}`;
    at("latest").replaceChildren(element("strong", { class: word }, word.toUpperCase() + about), ` ${answerMeans(shared.gate, answer)}`);
  }

  async function ask(where) {
    sending?.abort();
    const mine = (sending = new AbortController());
    shared.asking = true;
    for (const id of ["ask-trouble", "latest"]) at(id).replaceChildren();
    at("again").hidden = true;
    shared.expect(shared.gate);
    wrong(null, "");
    permit();
    try {
      const answer = await post(address, { where }, mine.signal);
      if (signal.aborted) return;
      tell(answer);
    } catch (problem) {
      if (mine.signal.aborted || signal.aborted) return;
      if (problem instanceof Unreachable) offer("The connection was lost while this was asked.");
      else if (!wrong(problem, where)) {
        at("ask-trouble").textContent = problem instanceof Problem ? problem.message : String(problem);
        if (unanswered(address)) offer(problem.message);
      }
    } finally {
      if (sending === mine && !signal.aborted) {
        sending = null;
        shared.asking = false;
        at("asking-note").textContent = "";
        shared.expect(shared.gate);
        permit();
        at(shared.gate.closed ? "title" : "where").focus();
      }
    }
    if (!signal.aborted) await shared.refresh().catch(() => null);
  }

  at("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const where = at("where").value.trim();
    if (where && !at("ask").disabled && !box.needsMending()) ask(where);
  });
  at("again").addEventListener("click", () => {
    const waiting = unanswered(address);
    if (!waiting) return;
    at("where").value = waiting.body.where;
    ask(waiting.body.where);
  });

  // From a row: a new question, not the same one.
  shared.askAgain = async (where) => {
    const closed = shared.gate.closed ? "This gate is closed. " : "";
    if (closed) return void (await sure(`${closed}Open another gate to ask it again.`, "Yes"));
    if (!(await sure(`Ask again: ${where}\n\nThis is a new question, with new noise. ${costs(shared.gate)}`, "Ask, as a new question"))) return;
    forget(address);
    at("where").value = where;
    await ask(where);
  };

  const lost = () => { if (sending) offer("The service does not answer."); };
  line.addEventListener("lost", lost);
  signal.addEventListener("abort", () => {
    line.removeEventListener("lost", lost);
    sending?.abort(); // its key is kept, and it is offered again when one comes back
  });
  shared.whenHeard((gate) => { permit(); shared.expect(gate); });
  permit();
  shared.expect(shared.gate);
  const before = unanswered(address);
  if (before) {
    at("where").value = before.body.where;
    offer("A question was sent from here and its answer did not arrive.");
  }
}
