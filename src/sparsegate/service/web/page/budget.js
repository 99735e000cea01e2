// The budget, for owners: what is spent, when it was, and every entry.

import { get } from "./api.js";
import { element, row } from "./elements.js";
import { amount, count, local, short, when } from "./figures.js";
import { keepDrawn, plotSpending } from "./plot.js";

const PART = 100; // entries in the page at once
const KINDS = { budget: "budget set to", spend: "spent", reserve: "reserved", refund: "given back" };

export async function showBudget({ at, signal }) {
  const found = await get("/v1/budget", signal);
  if (signal.aborted) return;
  const [part, sign] = found.rule === "zcdp" ? ["rho", "ρ"] : ["epsilon", "ε"]; // what the ledger adds up
  const meter = at("spent-meter");
  meter.max = Number(found.budget[part]);
  meter.value = Number(found.spent[part]);
  const delta = found.budget.delta === "0" ? "" : `; δ ${short(found.spent.delta)} of ${short(found.budget.delta)}`;
  const means = part === "epsilon" ? "" : `; all of ρ is ε ${short(found.budget.epsilon)} at δ ${short(found.conversion_delta)}`;
  at("spent").replaceChildren(`${sign} `, amount(found.spent[part]), " of ", amount(found.budget[part]), " spent or reserved, ",
    amount(found.remaining[part]), " left, ", amount(found.given_back[part] ?? "0"), ` given back by gates that closed${delta}${means}`);
  const entries = found.entries.map((entry) => ({ ...entry, epsilon: entry[part] ?? "0" }));
  at("spending-caption").textContent =
    `What was spent or reserved against time, from ${local(entries[0].at)}: ${sign} ${short(found.spent[part])} of ${short(found.budget[part])} now, in ${count(entries.length)} entries.`;
  keepDrawn(at("spending"), () => plotSpending(at("spending"), entries, part), signal)();
  at("amounts").textContent = part === "rho" ? "Rho" : "Epsilon";

  // Which gate an entry is of: the one that it opened, or that of the entry that it names.
  const numbered = new Map(entries.map((entry) => [entry.number, entry]));
  const named = (entry) => entry.of ?? Number(/^(?:the next|\d+ more) ABOVE of entry (\d+)$/.exec(entry.what)?.[1]);
  const gateOf = (entry) => entry && (entry.gate ?? gateOf(numbered.get(named(entry))));
  const link = (entry) => {
    const gate = gateOf(entry);
    return gate ? element("a", { href: `#/gates/${gate}`, "aria-label": `The gate of entry ${entry.number}` }, "its gate") : "";
  };

  const heads = ["#", "Time", "Kind", at("amounts").textContent, "What"];
  const newest = [...entries].reverse();
  let shown = 0;
  const more = () => {
    at("entries").append(...newest.slice(shown, shown + PART).map((entry) => row(heads, [
      count(entry.number),
      when(entry.at),
      KINDS[entry.kind],
      element("td", {}, amount(entry.epsilon), entry.delta === "0" ? "" : `, δ ${short(entry.delta)}`),
      element("span", {}, `${entry.what}${entry.of === null ? "" : ` (entry ${count(entry.of)})`} `, link(entry)),
    ])));
    shown += PART;
    at("more").hidden = shown >= newest.length;
  };
  at("more").addEventListener("click", more);
  more();
}
