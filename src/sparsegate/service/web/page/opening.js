// Opening a gate: what it will tell and cost, before it is opened.

import { inquire, post, Unreachable } from "./api.js";
import { sure } from "./dialogs.js";
import { element } from "./elements.js";
import { count, people, percent, short } from "./figures.js";
import { aboveMeans, belowMeans, costs, refunds, several } from "./meaning.js";
import { keepDrawn, plotMargin } from "./plot.js";
import { isOwner, session } from "./session.js";

const PAUSE = 250; // of typing, before a preview is asked for

export async function showOpening({ at, signal }, place) {
  const form = at("open-form");
  let preview = null; // of what the form holds now
  let looking = new AbortController();
  let timer = null;

  if (place.practice) at("title").textContent = "Open a practice gate";
  const { rule } = place.practice ? { rule: "epsilon" } : session.served;
  at("refund").textContent = refunds(rule);

  const redraw = keepDrawn(at("margin-plot"), () => {
    if (!preview) return;
    const { curve, by_cutoff, epsilon, cutoff, margin, threshold } = preview;
    plotMargin(at("margin-plot"), { curve, along: "epsilon", chosen: epsilon, across: "epsilon of the gate (cost)", margin, threshold });
    plotMargin(at("cutoff-plot"), { curve: by_cutoff, along: "cutoff", chosen: cutoff, across: "cutoff (c), at this epsilon", margin, threshold });
  }, signal);

  function wanted() {
    const { name, description, threshold, cutoff, epsilon, queries, closes, noise } = Object.fromEntries(new FormData(form));
    const asked = { threshold: Number(threshold), cutoff: Number(cutoff), epsilon, queries: queries ? Number(queries) : null, noise, closes };
    const called = { ...(name.trim() && { name: name.trim() }), ...(description.trim() && { description: description.trim() }) };
    return { asked, called };
  }

  async function look() {
    looking.abort();
    looking = new AbortController();
    preview = null;
    if (!form.checkValidity()) return clear();
    const { asked } = wanted();
    const mine = looking.signal;
    try {
      const found = await inquire(`${place.api}/preview`, asked, mine);
      if (mine.aborted || signal.aborted) return;
      preview = { ...found, ...asked, epsilon: Number(asked.epsilon), text: asked.epsilon };
      at("open-trouble").textContent = "";
      tell();
    } catch (problem) {
      if (mine.aborted || signal.aborted) return;
      clear();
      at("open-trouble").textContent = problem.message;
    }
  }

  function clear() {
    at("preview-found").hidden = true;
    at("preview-none").hidden = false;
    at("open").textContent = "Open";
    for (const id of ["warning", "summary"]) at(id).textContent = "";
  }

  function tell() {
    at("preview-found").hidden = false;
    at("preview-none").hidden = true;
    at("warning").textContent = preview.warning ?? "";
    const cost = place.practice
      ? "Nothing: this is practice."
      : preview.remaining_rho != null
        ? `ρ ${short(preview.rho)} is spent. ${short(preview.remaining_rho)} are left before, ${short(String(left(preview.remaining_rho, preview.rho)))} after.`
        : `ε ${short(preview.cost)} is reserved (ρ ${short(preview.rho)} on a zCDP ledger).` +
          (preview.remaining == null ? "" : ` ${short(preview.remaining)} are left before, ${short(String(left(preview.remaining, preview.cost)))} after.`);
    const facts = [
      ["Margin of each answer", `± ${people(preview.margin)}, ${percent(preview.confidence)} of the time`],
      [`Of ${count(several(preview))} answers at once`, `± ${people(preview.margin_all)}, ${percent(preview.confidence)} of the time`],
      ["Estimate with an ABOVE", preview.standard_error == null ? "none" : `± ${people(preview.standard_error)} (standard error)`],
      ["Cost", cost],
      ["An ABOVE will mean", aboveMeans(preview)],
      ["A BELOW will mean", belowMeans(preview)],
      ["What an answer costs", costs(preview)],
    ];
    at("preview-list").replaceChildren(...facts.flatMap(([term, fact]) => [element("dt", {}, term), element("dd", {}, fact)]));
    at("margin-caption").textContent = `The margin against epsilon and against the cutoff: ± ${people(preview.margin)} at ε ${preview.text} and c = ${count(preview.cutoff)}` +
      (preview.threshold > 0 ? `; the dashed line is the threshold, ${count(preview.threshold)}. Where a curve lies above it, answers say little.` : ".");
    at("summary").textContent = `each answer ± ${people(preview.margin)}`;
    at("open").textContent = place.practice ? "Open (free)" : `Open, and reserve ε ${preview.text}`;
    redraw();
  }

  const left = (before, cost) => Number((Number(before) - Number(cost)).toPrecision(12));

  form.addEventListener("input", () => {
    clearTimeout(timer);
    looking.abort();
    preview = null;
    timer = setTimeout(look, PAUSE);
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    at("open").disabled = true;
    at("open-trouble").textContent = "";
    try {
      const seen = preview !== null;
      if (!seen) await look();
      if (!preview) return;
      const words = preview.warning ?? (seen ? "" : `The margin will be ± ${people(preview.margin)}, and ε ${preview.text} is reserved.`);
      if (words && !(await sure(`${words} Open it all the same?`, "Open it"))) return;
      const { asked, called } = wanted();
      const gate = await post(`${place.api}/gates`, { ...asked, ...called });
      location.hash = `${place.hash}/gates/${gate.id}`.slice(1);
    } catch (problem) {
      at("open-trouble").textContent = problem instanceof Unreachable
        ? `${problem.message} The gate may have been opened. Press the button again: it is sent under the same key, and opened and paid for once.`
        : problem.message;
    } finally {
      at("open").disabled = false;
    }
  });

  form.elements.name.focus();
  if (!isOwner() && !place.practice) location.replace("#/gates");
}
