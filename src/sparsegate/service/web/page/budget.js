// The budget, for owners: what is spent, when it was, and every entry.

import { get } from "./api.js";
import { element, row } from "./elements.js";
import { amount, count, local, short, when } from "./figures.js";
import { keepDrawn, plotSpending } from "./plot.js";

const PART = 100; // entries in the page at once
const HEADS = ["#", "Time", "Kind", "Epsilon", "What"];
const KINDS = { budget: "budget set to", spend: "spent", reserve: "reserved", refund: "given back" };

export async function showBudget({ at, signal }) {
  const found = await get("/v1/budget", signal);
  if (signal.aborted) return;
  const meter = at("spent-meter");
  meter.max = Number(found.budget.epsilon);
  meter.value = Number(found.spent.epsilon);
  const delta = found.budget.delta === "0" ? "" : `; δ ${short(found.spent.delta)} of ${short(found.budget.delta)}`;
  at("spent").replaceChildren("ε ", amount(found.spent.epsilon), " of ", amount(found.budget.epsilon), " spent or reserved, ",
    amount(found.remaining.epsilon), " left, ", amount(found.given_back.epsilon), ` given back by gates that closed${delta}`);
  const { entries } = found;
  at("spending-caption").textContent =
    `What was spent or reserved against time, from ${local(entries[0].at)}: ε ${short(found.spent.epsilon)} of ${short(found.budget.epsilon)} now, in ${count(entries.length)} entries.`;
  keepDrawn(at("spending"), () => plotSpending(at("spending"), entries), signal)();

  const newest = [...entries].reverse();
  let shown = 0;
  const more = () => {
    at("entries").append(...newest.slice(shown, shown + PART).map((entry) => row(HEADS, [
      count(entry.number),
      when(entry.at),
      KINDS[entry.kind],
      element("td", {}, amount(entry.epsilon), entry.delta === "0" ? "" : `, δ ${short(entry.delta)}`),
      entry.what + (entry.of === null ? "" : ` (entry ${count(entry.of)})`),
    ])));
    shown += PART;
    at("more").hidden = shown >= newest.length;
  };
  at("more").addEventListener("click", more);
  more();
}
