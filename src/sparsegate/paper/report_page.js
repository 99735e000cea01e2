"use strict";
const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => head.classList.contains("number") ? value(a) - value(b) : value(a).localeCompare(value(b));
      body.append(...[...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a)));
    });
  }
}

// "zipf em|svt-s-1:1 100": every word, or one of those with | between, must be a cell; a part of one will do unless the
// word is a whole cell somewhere, or a number.
const filter = document.getElementById("filter");
const rows = filter ? [...document.getElementById("numbers-table").tBodies[0].rows] : [];
const texts = new Map(rows.map((row) => [row, [...row.cells].slice(0, 4).map((cell) => cell.textContent.toLowerCase())]));
const whole = new Set([...texts.values()].flat());
const fits = (cells, word) => cells.some((cell) => cell === word || isNaN(word) && !whole.has(word) && cell.includes(word));
const narrow = () => {
  const wanted = words(filter.value).map((word) => word.split("|"));
  for (const [row, cells] of texts) row.hidden = !wanted.every((choice) => choice.some((word) => fits(cells, word)));
};
filter?.addEventListener("input", narrow);
for (const link of document.querySelectorAll("a[data-rows]")) {
  link.addEventListener("click", () => {
    filter.value = link.dataset.rows;
    narrow();
  });
}
