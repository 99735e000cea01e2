// The box for a condition: columns to click, words that complete themselves, examples, and curly quotes made straight.

import { sure } from "./dialogs.js";
import { button, element } from "./elements.js";
import { keep, kept } from "./kept.js";
import { counted } from "./session.js";

const MOST = 8; // suggestions, or examples, at once
const WORDS = [
  "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL", "TRUE", "FALSE", "NULL", "DATE", "TIMESTAMP", "TIME",
  "CASE", "WHEN", "THEN", "ELSE", "END", "coalesce", "lower", "upper", "trim", "length", "starts_with", "ends_with", "contains",
  "year", "month", "day", "hour",
];
const RESERVED = new Set([...WORDS.flatMap((word) => word.toUpperCase().split(" ")), "CAST", "SIMILAR", "DISTINCT", "FROM", "EXTRACT", "AS", "ESCAPE"]);

export const nameOf = (column) =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(column.name) && !RESERVED.has(column.name.toUpperCase())
    ? column.name
    : `"${column.name.replaceAll('"', '""')}"`;

// One test on a column, by its kind. No value of the data is known here, so the value is made up.
const TESTS = {
  text: (name) => `${name} = 'value'`,
  integer: (name) => `${name} >= 10`,
  real: (name) => `${name} > 0.5`,
  boolean: (name) => `${name} IS TRUE`,
  date: (name) => `${name} >= DATE '2030-01-31'`,
  timestamp: (name) => `${name} >= TIMESTAMP '2030-01-31 12:00:00'`,
  time: (name) => `${name} >= TIME '12:00:00'`,
};
const test = (column) => (TESTS[column.kind] ?? ((name) => `${name} IS NOT NULL`))(nameOf(column));

// Examples from the schema: different kinds first, then two of them together. Made-up data comes with its own.
export function examples(columns) {
  const given = columns.map((column) => column.example).filter(Boolean);
  if (given.length) return given.slice(0, MOST);
  const kinds = new Map();
  for (const column of columns) if (!kinds.has(column.kind)) kinds.set(column.kind, column);
  const found = [...kinds.values()].slice(0, 3).map(test);
  const [first, second] = [...new Set([...kinds.values(), ...columns])];
  if (second) found.push(`${test(first)} AND ${second.kind === "text" ? `${nameOf(second)} IN ('one', 'another')` : test(second)}`);
  const text = columns.find((column) => column.kind === "text");
  if (text) found.push(`${nameOf(text)} LIKE 'begin%'`);
  return found;
}

// What there is to write, with the declared columns, and what it is for. Only what fits the kinds of columns that there are.
const ORDERED = ["integer", "real", "date", "timestamp", "time"];
const VALUES = { integer: ["10", "20"], real: ["0.5", "1.5"], date: ["DATE '2030-01-31'", "DATE '2030-02-28'"],
  timestamp: ["TIMESTAMP '2030-01-31 12:00:00'", "TIMESTAMP '2030-01-31 18:00:00'"], time: ["TIME '12:00:00'", "TIME '18:00:00'"] };

export function operators(columns) {
  const of = (...kinds) => columns.find((column) => kinds.includes(column.kind));
  const [text, ordered, dated, truth, any] = [of("text"), of(...ORDERED), of("date", "timestamp"), of("boolean"), columns[0]];
  const name = (column) => nameOf(column);
  const [low, high] = ordered ? VALUES[ordered.kind] : [];
  return [
    text && [`${name(text)} = 'value'`, "is this text; <> is not. A quote inside a text is written twice: 'it''s'"],
    text && [`${name(text)} IN ('one', 'another')`, "is one of these; NOT IN: none of them"],
    text && [`${name(text)} LIKE 'begin%'`, "% is any text, _ one character; ILIKE takes capitals and small letters for the same"],
    text && [`contains(lower(${name(text)}), 'part')`, "holds this; also starts_with, ends_with, upper, trim, length"],
    ordered && [`${name(ordered)} >= ${low}`, "at least; also < <= > = <>"],
    ordered && [`${name(ordered)} BETWEEN ${low} AND ${high}`, "from the one to the other, both included"],
    dated && [`year(${name(dated)}) = 2030`, "a part of a date; also month, day, dow"],
    truth && [`${name(truth)} IS TRUE`, "is true; also IS FALSE"],
    any && [`${name(any)} IS NULL`, "has no value; any other comparison with it is unknown, and the row does not count. IS NOT NULL: has one"],
    any && [`NOT (${test(any)})`, "the opposite; what is unknown stays unknown"],
    any && [`(${test(any)} OR ${name(columns.at(-1))} IS NULL) AND ${name(any)} IS NOT NULL`, "AND binds before OR: use brackets"],
  ].filter(Boolean);
}

const CURLY = "‘’‚‛“”„‟«»‹›`´′″";
const QUOTED = new RegExp(`'(?:[^']|'')*'|"(?:[^"]|"")*"|[${CURLY}]([^${CURLY}'"]*)[${CURLY}'"]`, "g");

// The same condition with straight quotes: single ones around a text, double ones around the name of a column. What stands
// between straight quotes already is left as it is: a curly apostrophe may be part of a text.
export function straightened(text, columns) {
  const names = new Set(columns.map((column) => column.name.toLowerCase()));
  return text.replace(QUOTED, (found, inner) => {
    if (inner === undefined) return found;
    return names.has(inner.toLowerCase()) ? `"${inner}"` : `'${inner}'`;
  });
}

export function conditionBox({ at, signal }, columns, submit) {
  const where = at("where");
  const list = at("suggestions");
  const names = columns.map((column) => ({ text: nameOf(column), key: column.name.toLowerCase(), kind: column.kind }));
  const words = [...names, ...WORDS.map((word) => ({ text: word, key: word.toLowerCase(), kind: "" }))];
  let active = -1;

  const made = examples(columns);
  where.placeholder = made.at(made.length > 2 ? -2 : 0) ?? "";
  at("columns").replaceChildren(...columns.map((column, place) =>
    button("", () => insert(names[place].text), { class: "chip", "data-column": column.name, "aria-label": `${column.name}, ${column.kind}` })));
  columns.forEach((column, place) => at("columns").children[place].append(column.name, " ", element("small", {}, column.kind)));
  at("examples").replaceChildren(...made.map((text) => button(text, () => {
    where.value = text;
    where.focus();
    const literal = /'[^']*'|\d[\d.]*/.exec(text);
    if (literal) where.setSelectionRange(literal.index + (literal[0][0] === "'"), literal.index + literal[0].length - (literal[0][0] === "'"));
    changed();
  }, { class: "chip" })));

  at("condition-means").textContent = "For each row a condition is true, false or unknown. " +
    (counted() === "people" ? "A person counts once, if it is true for any of her rows." : "Rows count for which it is true.") + " The values below are made up.";
  at("operator-list").replaceChildren(...operators(columns).flatMap(([form, says]) => [element("dt", {}, form), element("dd", {}, says)]));
  savedConditions();

  // Conditions under names, each to be put into the box or deleted.
  function savedConditions() {
    const list = [...kept().conditions].sort(([one], [other]) => one.localeCompare(other));
    at("saved-group").hidden = !list.length;
    at("saved").replaceChildren(...list.map(([name, text]) => element("span", { class: "pair" },
      button(name, () => { where.value = text; changed(); where.focus(); }, { class: "chip", title: text, "aria-label": `Use ${name}: ${text}` }),
      button("×", async () => {
        if (!(await sure(`Delete the saved condition ${name}?\n\n${text}`, "Delete it"))) return;
        tellSaved(keep("conditions", name, ""), `${name} is deleted.`);
        at("save-name").focus();
      }, { class: "chip", "aria-label": `Delete ${name}` }))));
  }

  function tellSaved(trouble, done) {
    at("saved-note").textContent = trouble || done;
    savedConditions();
  }

  async function save() {
    const [name, text] = [at("save-name").value.trim(), where.value.trim()];
    if (!name || !text) return void (at("saved-note").textContent = "Write a condition and a name for it first.");
    const before = kept().conditions.get(name);
    if (before && before !== text && !(await sure(`${name} is saved already:\n\n${before}\n\nReplace it?`, "Replace it"))) return;
    tellSaved(keep("conditions", name, text), `Saved as ${name}, in this browser alone.`);
    at("save-name").value = "";
  }

  at("save").addEventListener("click", save);
  at("save-name").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // it must not ask
    save();
  });

  // Put a word where the caret is, in place of what was begun there.
  function insert(text, from = where.selectionStart) {
    const [before, after] = [where.value.slice(0, from), where.value.slice(where.selectionEnd)];
    const gap = before && !/[\s(]$/.test(before) ? " " : "";
    where.focus();
    where.setSelectionRange(from, where.selectionEnd);
    // As typed, so that it can be undone.
    if (!document.execCommand?.("insertText", false, `${gap}${text} `)) where.value = `${before}${gap}${text} ${after}`;
    changed();
    hide();
  }

  const begun = () => /(?:"[^"]*|[A-Za-z_][\w]*)$/.exec(outsideQuotes(where.value.slice(0, where.selectionStart)))?.[0] ?? "";

  function suggest() {
    const start = begun();
    const key = start.replace(/^"/, "").toLowerCase();
    const found = start && !at("where-note").hasChildNodes() && where.selectionStart === where.selectionEnd
      ? words.filter((word) => word.key.startsWith(key) && word.text !== start).concat(
          names.filter((word) => key.length > 1 && word.key.indexOf(key) > 0)).slice(0, MOST)
      : [];
    active = -1;
    list.replaceChildren(...found.map((word, place) => element("li",
      { role: "option", id: `suggestion-${place}`, "data-text": word.text, "aria-selected": "false" },
      word.text, " ", element("small", {}, word.kind))));
    list.hidden = !found.length;
    where.setAttribute("aria-expanded", String(!list.hidden));
    where.removeAttribute("aria-activedescendant");
  }

  function hide() {
    list.hidden = true;
    active = -1;
    where.setAttribute("aria-expanded", "false");
    where.removeAttribute("aria-activedescendant");
  }

  function move(step) {
    const size = list.children.length;
    active = active < 0 ? (step > 0 ? 0 : size - 1) : (active + step + size) % size;
    [...list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
    where.setAttribute("aria-activedescendant", `suggestion-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  const take = (option) => insert(option.dataset.text, where.selectionStart - begun().length);

  function changed() {
    const mended = straightened(where.value, columns);
    at("where-note").replaceChildren();
    if (mended === where.value) return;
    at("where-note").append(
      "There are curly quotes in this, as letters and text programs make them (‘ ’ “ ”). A condition needs straight ones: 'a text', \"a column\". ",
      button("Make them straight", () => { where.value = mended; changed(); where.focus(); }));
  }

  where.addEventListener("input", () => { changed(); suggest(); });
  where.addEventListener("blur", hide);
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the box keeps the focus
    const option = event.target.closest("[role=option]");
    if (option) take(option);
  });
  where.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const open = !list.hidden;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) move(event.key === "ArrowDown" ? 1 : -1);
    else if (open && active >= 0 && (event.key === "Enter" || event.key === "Tab")) take(list.children[active]);
    else if (open && event.key === "Escape") hide();
    else if (event.key === "Enter" && !event.shiftKey) { hide(); submit(); }
    else return;
    event.preventDefault();
  });
  signal.addEventListener("abort", hide);
  return {
    // Whether there are curly quotes; the note beside the box says so.
    needsMending() {
      changed();
      at("where-note").querySelector("button")?.focus();
      return at("where-note").hasChildNodes();
    },
  };
}

// The end of the text, if it is not inside 'quotes'; else nothing.
function outsideQuotes(text) {
  return (text.match(/'/g) ?? []).length % 2 ? "" : text;
}
