// Tokens and what they were used for, for owners.

import { get, getPage, post, remove } from "./api.js";
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
    const quotas = [
      token.most_above == null ? null : `${count(token.most_above)} ABOVE`,
      token.most_epsilon == null ? null : `ε ${short(String(token.most_epsilon))}`,
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

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    const body = { name: fields.name.trim(), role: fields.role };
    if (fields.expires_at) body.expires_at = new Date(fields.expires_at).toISOString();
    if (fields.most_above) body.most_above = Number(fields.most_above);
    if (fields.most_epsilon) body.most_epsilon = fields.most_epsilon;
    at("token-trouble").textContent = "";
    at("add").disabled = true;
    try {
      const made = await post("/v1/tokens", body);
      form.reset();
      once(made);
      await list();
    } catch (problem) {
      if (!signal.aborted) at("token-trouble").textContent = problem.message;
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
      element("a", { href: `#/gates/${asked.gate}` }, asked.gate),
      element("td", { class: outcome(asked) }, outcome(asked) === "lost" ? "lost" : outcome(asked).toUpperCase()),
      element("td", { class: "code" }, asked.where),
    ])));
    at("more").hidden = !next;
    at("no-activity").hidden = at("activity").hasChildNodes();
  };
  at("more").addEventListener("click", () => more());
  await more();
}
