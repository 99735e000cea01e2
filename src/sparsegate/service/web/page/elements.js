// Elements of the page. What comes from the service is always put in as text, never as markup.

const SPACE = "http://www.w3.org/2000/svg";

// element("a", { href: "#/gates", class: "name", on: { click: f } }, "text", other, ...)
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SPACE, name), attributes, children);
}

function filled(made, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(on)) made.addEventListener(name, listener);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function button(text, listener, attributes = {}) {
  return element("button", { type: "button", class: "plain", on: { click: listener }, ...attributes }, text);
}

// A row of a table; `heads` are the names of its columns, which a narrow screen shows beside the cells.
export function row(heads, cells, attributes = {}) {
  return element("tr", attributes, ...cells.map((cell, place) => {
    const made = cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell);
    made.dataset.head = heads[place];
    return made;
  }));
}
