// The answers of a gate: newest first, a page at a time; as CSV; and each of them as code.

import { get } from "./api.js";
import { showTexts } from "./dialogs.js";
import { button, element, row } from "./elements.js";
import { count, local, when } from "./figures.js";
import { keep, kept } from "./kept.js";
import { keepDrawn, outcome, plotAnswers } from "./plot.js";
import { inCurl, inPython } from "./recipes.js";

const PAGE = 100; // answers in the page at once
const PART = 1000; // answers that are sent at once
const PAUSE = 200; // of typing, before answers are searched
const HEADS = ["#", "Time", "Answer", "Where", "By", "Note", "Again"];

export async function showAnswers({ at, signal }, shared) {
  const address = `${shared.address}/answers`;
  let shown = []; // newest first
  let newest = true; // whether the newest page is shown, which goes on by itself
  let oldest = false; // whether there is none before it
  let words = []; // that are searched for, in all answers
  const known = []; // all answers, oldest first, once they were needed
  const noted = (answer) => `${shared.id} ${answer.number}`;

  const redraw = keepDrawn(at("plot"), () => plotAnswers(at("plot"), shown), signal);

  async function page(query) {
    const found = await get(`${address}?${query}limit=${PAGE}`, signal);
    return found.sort((one, other) => other.number - one.number);
  }

  // The newest page: what is shown already stays, so that the focus in it does.
  async function follow() {
    if (words.length) return search();
    const known = shown[0]?.number ?? 0;
    const fresh = newest && known ? await page(`after=${known}&`) : await page("before=2147483647&");
    if (signal.aborted || !newest) return;
    if (!known || fresh.length >= PAGE) return list(known ? await page("before=2147483647&") : fresh);
    const news = fresh.filter((answer) => answer.number > (shown[0]?.number ?? 0));
    shown = [...news, ...shown].slice(0, PAGE);
    at("answers").prepend(...news.map((answer) => line(answer, true)));
    while (at("answers").children.length > PAGE) at("answers").lastChild.remove();
    tell();
  }

  function list(found) {
    shown = found;
    at("answers").replaceChildren(...found.map((answer) => line(answer)));
    tell();
  }

  function tell() {
    const [first, last] = [shown[0]?.number, shown.at(-1)?.number];
    if (words.length) return tellSearched(first, last);
    at("range").textContent = shown.length ? `${count(last)} to ${count(first)} of ${count(Math.max(shared.gate.asked, first))}` : "none yet";
    at("newest").disabled = at("newer").disabled = newest;
    at("older").disabled = oldest || !shown.length || last <= 1;
    at("pager").hidden = at("newest").disabled && at("older").disabled;
    at("csv").disabled = !shown.length;
    const many = (name) => count(shown.filter((answer) => outcome(answer) === name).length);
    at("plot-caption").textContent = shown.length
      ? `Answers ${count(last)} to ${count(first)} against time: ${many("above")} ABOVE, ${many("below")} BELOW, ${many("lost")} lost.` : "";
    at("answers-table").hidden = !shown.length;
    redraw();
  }

  // What holds every word: in its condition, its answer, who asked, or the note on it. No more in the page than usual.
  async function search() {
    const wanted = words;
    await all();
    if (signal.aborted || wanted !== words) return;
    const { notes } = kept();
    const text = (answer) => [answer.where, outcome(answer), answer.by ?? "", notes.get(noted(answer)) ?? "", `#${answer.number}`].join("\n").toLowerCase();
    const found = known.filter((answer) => words.every((word) => text(answer).includes(word))).reverse();
    many = found.length;
    if (known.length && document.activeElement?.closest("#answers")) return; // a note is being written there
    list(found.slice(0, PAGE));
  }

  let many = 0; // that were found

  function tellSearched(first, last) {
    at("range").textContent = `${count(many)} of ${count(known.length)} found${many > PAGE ? `, the newest ${count(PAGE)} shown` : ""}`;
    at("pager").hidden = true;
    at("plot-caption").textContent = shown.length ? `What was found of answers ${count(last)} to ${count(first)}, against time.` : "";
    at("answers-table").hidden = !shown.length;
    redraw();
  }

  let timer = null;
  at("search-answers").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      words = at("search-answers").value.toLowerCase().split(/\s+/).filter(Boolean);
      at("answers-trouble").textContent = "";
      (words.length ? search() : turn(() => "before=2147483647&", true)).catch((problem) => {
        if (!signal.aborted) at("answers-trouble").textContent = problem.message;
      });
    }, PAUSE);
  });

  function noteField(answer) {
    const field = element("input", { maxlength: 500, autocomplete: "off", "aria-label": `Note on answer ${answer.number}`, placeholder: "note" });
    field.value = kept().notes.get(noted(answer)) ?? "";
    field.addEventListener("change", () => { at("answers-trouble").textContent = keep("notes", noted(answer), field.value.trim()); });
    return field;
  }

  function line(answer, fresh = false) {
    const word = outcome(answer);
    const about = answer.estimate === null ? "" : ` ≈ ${count(answer.estimate)}`;
    return row(HEADS, [
      count(answer.number),
      when(answer.at),
      element("td", { class: word }, (word === "lost" ? "lost" : word.toUpperCase()) + about),
      element("td", { class: "code" }, answer.where),
      answer.by ?? "",
      noteField(answer),
      element("td", { class: "actions" },
        button("Ask again…", () => shared.askAgain(answer.where), { "aria-label": `Ask again: ${answer.where}` }),
        button("Copy as…", () => showCode(answer), { "aria-label": `Copy as curl or Python: ${answer.where}` })),
    ], { class: fresh ? "new" : null });
  }

  function showCode(answer) {
    const note = "Both ask a new question, which costs what the gate says. Put your token where the placeholder stands; it is not in the text.";
    showTexts(note, {
      curl: inCurl(location.origin, shared.address, answer.where),
      ...(shared.place.practice ? {} : { Python: inPython(location.origin, shared.id, answer.where) }),
    });
  }

  async function turn(query, toNewest) {
    at("answers-trouble").textContent = "";
    try {
      const found = await page(query());
      const back = /before/.test(query());
      oldest = back && found.length < PAGE;
      newest = toNewest || (!back && !found.length) || found[0]?.number >= shared.gate.asked;
      if (found.length) list(found);
      else tell();
    } catch (problem) {
      if (!signal.aborted) at("answers-trouble").textContent = problem.message;
    }
  }

  at("newest").addEventListener("click", () => turn(() => "before=2147483647&", true));
  at("older").addEventListener("click", () => turn(() => `before=${shown.at(-1).number}&`, false));
  at("newer").addEventListener("click", () => turn(() => `after=${shown[0].number}&`, false));
  at("csv").addEventListener("click", async () => {
    at("answers-trouble").textContent = "";
    at("csv").disabled = true;
    try {
      await all();
      const { notes } = kept();
      save(`${shared.id}.csv`, asCsv(known, known.map((answer) => notes.get(noted(answer)))));
    } catch (problem) {
      if (!signal.aborted) at("answers-trouble").textContent = problem.message;
    } finally {
      at("csv").disabled = false;
    }
  });

  async function all() {
    for (let part = null; part === null || part.length === PART; ) {
      part = await get(`${address}?after=${known.at(-1)?.number ?? 0}&limit=${PART}`, signal);
      known.push(...part.filter((answer) => answer.number > (known.at(-1)?.number ?? 0))); // two may load at once
    }
  }

  shared.whenHeard((gate) => { if (newest && (shown[0]?.number ?? 0) < gate.asked) follow().catch(() => null); });
  await follow();
}

// As RFC 4180 has it. A spreadsheet takes a cell that begins with one of these signs for a formula: a blank goes before it.
export function asCsv(answers, notes = []) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? ` ${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = answers.map((answer, place) =>
    [answer.number, answer.at, local(answer.at), outcome(answer), answer.estimate, answer.by, answer.where, notes[place]].map(cell).join(","));
  return `number,at_utc,at_local,answer,estimate,by,where,note\r\n${lines.map((each) => `${each}\r\n`).join("")}`;
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
