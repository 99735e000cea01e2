// Tokens and what they were used for, for owners.

import { get, getPage, inquire, remove, Unreachable } from "./api.js";
import { copyButton, sure } from "./dialogs.js";
import { button, element, row } from "./elements.js";
import { count, short, when } from "./figures.js";
import { outcome } from "./plot.js";
import { session } from "./session.js";

const HEADS = ["Name", "Role", "Made", "Expires", "Last used", "Quotas", "State"];
const ASKED = ["Time", "Who", "Gate", "Answer", "Where"];
const PART = 100;

export async function showTokens({ at, signal }) {
  const form = at("token-form");

  async function list() {
    const found = await get("/v1/tokens", signal);
    if (!signal.aborted) at("token-list").replaceChildren(...found.map(line));
  }

  function line(token) {
    const expired = token.expires_at && Date.parse(token.expires_at) <= Date.now();
    const { most_above: above = null, most_epsilon: epsilon = null } = token.quota ?? {};
    const quotas = [
      above === null ? null : `${count(token.quota.above)} of ${count(above)} ABOVE`,
      epsilon === null ? null : `ε ${short(token.quota.epsilon)} of ${short(epsilon)}`,
    ].filter(Boolean).join(", ");
    const state = token.revoked_at
      ? element("td", {}, "revoked ", when(token.revoked_at))
      : element("td", { class: "actions" }, expired ? "expired " : "", button("Revoke…", () => revoke(token), { "aria-label": `Revoke ${token.name}` }));
    return row(HEADS, [token.name, token.role, when(token.added_at), when(token.expires_at), when(token.last_used_at), quotas || "none", state],
      { class: token.revoked_at || expired ? "shut" : null });
  }

  async function revoke(token) {
    const own = token.name === session.who.name ? " It is your own: you will be signed out." : "";
    if (!(await sure(`Revoke the token of ${token.name} for good? Whoever has it is refused within a few seconds, and its name cannot be used again.${own}`, "Revoke it"))) return;
    at("tokens-trouble").textContent = "";
    try {
      await remove(`/v1/tokens/${encodeURIComponent(token.name)}`);
      await list();
    } catch (problem) {
      if (!signal.aborted) at("tokens-trouble").textContent = problem.message;
    }
  }

  // An analyst charges nothing: only an owner's epsilon can be bounded.
  const permit = () => { form.elements.most_epsilon.disabled = at("charge").hidden = form.elements.role.value !== "owner"; };
  form.elements.role.addEventListener("change", permit);
  permit();

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    const body = { name: fields.name.trim(), role: fields.role };
    if (fields.expires) body.expires = new Date(fields.expires).toISOString();
    if (fields.most_above) body.most_above = Number(fields.most_above);
    if (fields.most_epsilon) body.most_epsilon = fields.most_epsilon;
    at("token-trouble").textContent = "";
    at("add").disabled = true;
    try {
      const made = await inquire("/v1/tokens", body);
      form.reset();
      permit();
      once(made);
      await list();
    } catch (problem) {
      if (signal.aborted) return;
      // The service does not keep the text, so a lost one cannot be asked for again.
      const lost = problem instanceof Unreachable ? " The token may have been made all the same: then it is in the list; revoke it, and make another." : "";
      at("token-trouble").textContent = problem.message + lost;
    } finally {
      at("add").disabled = false;
    }
  });

  // The service does not keep the text: it is shown now or never.
  function once(made) {
    const shown = element("input", { readonly: true, "aria-label": `The token of ${made.name}`, spellcheck: "false" });
    shown.value = made.token;
    at("made").hidden = false;
    at("made").replaceChildren(
      element("p", {}, `The token of ${made.name}. It is shown this once: copy it now, and send it where only ${made.name} reads it.`),
      shown,
      element("div", { class: "row" }, copyButton("Copy the token", () => made.token, shown),
        button("Done, hide it", () => { at("made").replaceChildren(); at("made").hidden = true; form.elements.name.focus(); })));
    shown.focus();
  }

  await list();
}

export async function showActivity({ at, signal }) {
  let next = `/v1/activity?limit=${PART}`;
  const more = async () => {
    const page = await getPage(next, signal);
    if (signal.aborted) return;
    next = page.next;
    at("activity").append(...page.rows.map((asked) => row(ASKED, [
      when(asked.at),
      asked.by ?? "",
      element("a", { href: `#/gates/${asked.gate}` }, asked.gate_name || asked.gate),
      element("td", { class: outcome(asked) }, outcome(asked) === "lost" ? "lost" : outcome(asked).toUpperCase()),
      element("td", { class: "code" }, asked.where),
    ])));
    at("more").hidden = !next;
    at("no-activity").hidden = at("activity").hasChildNodes();
  };
  at("more").addEventListener("click", () => {
    at("activity-trouble").textContent = "";
    more().catch((problem) => { if (!signal.aborted) at("activity-trouble").textContent = problem.message; });
  });
  await more();
}
