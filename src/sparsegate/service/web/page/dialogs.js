// Dialogs: whether somebody is sure, and texts to be copied.

import { button, element } from "./elements.js";

const at = (id) => document.getElementById(id);

// Ask before something that cannot be undone: true for yes. Escape, and what is in focus, is no.
export function sure(text, yes) {
  const dialog = at("sure");
  at("sure-text").textContent = text;
  at("sure-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

export function closeDialogs() {
  for (const id of ["sure", "code"]) {
    if (at(id).open) at(id).close("no");
  }
  for (const id of ["sure-text", "code-note"]) at(id).textContent = "";
  at("code-texts").replaceChildren();
}

// Show texts, each under its name, with a button that copies it.
export function showTexts(note, texts) {
  at("code-note").textContent = note;
  at("code-texts").replaceChildren(...Object.entries(texts).map(([name, text]) => {
    const shown = element("textarea", { readonly: true, rows: Math.min(text.split("\n").length + 1, 8), "aria-label": name, spellcheck: "false", wrap: "off" });
    shown.value = text;
    shown.setSelectionRange(0, 0);
    return element("div", {}, element("h3", {}, name), shown, copyButton(`Copy ${name}`, () => text, shown));
  }));
  at("code").showModal();
}

// Browsers let a page write to the clipboard only over https and on the machine itself; else the text is selected.
export function copyButton(label, text, field) {
  const made = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      made.textContent = "Copied";
    } catch {
      field?.focus();
      field?.select();
      made.textContent = field ? "Press Ctrl+C to copy" : text();
    }
    setTimeout(() => { made.textContent = label; }, 3000);
  });
  return made;
}
