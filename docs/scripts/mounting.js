// Puts a figure in the place of its still picture: the drawing, its words, and its controls, all of them native ones.
"use strict";
(() => {
  let made = 0;

  function element(tag, properties = {}, ...children) {
    const created = Object.assign(document.createElement(tag), properties);
    created.append(...children);
    return created;
  }

  /** The state in which a still picture shows it. */
  const initial = (figure) => Object.fromEntries(figure.controls.filter(({ kind }) => kind !== "button").map(({ name, value }) => [name, value]));

  const MAKE = {
    range(control, id) {
      const { min, max, step } = control;
      const input = element("input", { id, type: "range", min, max, step });
      const output = element("output");
      output.htmlFor.add(id);
      output.setAttribute("aria-hidden", "true"); // the slider says it itself
      return { input, extra: [output], read: () => Number(input.value), show: (value) => {
        input.value = value;
        output.textContent = control.unit ? control.unit(value) : value;
        input.setAttribute("aria-valuetext", output.textContent);
      } };
    },
    check: (control, id) => {
      const input = element("input", { id, type: "checkbox" });
      return { input, extra: [], read: () => input.checked, show: (value) => { input.checked = value; } };
    },
    choice: (control, id) => {
      const options = Object.entries(control.options).map(([value, text]) => element("option", { value, textContent: text }));
      const input = element("select", { id }, ...options);
      return { input, extra: [], read: () => input.value, show: (value) => { input.value = value; } };
    },
  };

  function mount(image, figure) {
    let state = initial(figure);
    let width = 0;
    const holder = element("div", { className: "svt-holder" });
    const words = element("div", { className: "svt-words" });
    words.setAttribute("aria-live", "polite");
    const buttons = element("div", { className: "svt-buttons" });
    const controls = element("div", { className: "svt-controls" });
    const frame = element("div", { className: "svt-figure" }, holder, words, buttons, controls);
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", figure.title);

    const shows = [];
    function draw() {
      if (figure.fix) state = figure.fix(state);
      for (const show of shows) show();
      holder.innerHTML = figure.draw(state, width); // made of numbers and of this folder's own words
      words.replaceChildren(...figure.says(state).map((line) => element("p", { textContent: line })));
    }
    for (const control of figure.controls) {
      if (control.kind === "hidden") continue;
      if (control.kind === "button") {
        const button = element("button", { type: "button", textContent: control.label });
        button.addEventListener("click", () => { state = control.press(state); draw(); });
        buttons.append(button);
        continue;
      }
      made += 1;
      const id = `svt-control-${made}`;
      const { input, extra, read, show } = MAKE[control.kind ?? "range"](control, id);
      input.addEventListener("input", () => { state = { ...state, [control.name]: read() }; draw(); });
      shows.push(() => show(state[control.name]));
      controls.append(element("div", { className: `svt-control svt-${control.kind ?? "range"}` }, element("label", { htmlFor: id, textContent: control.label }), input, ...extra));
    }
    if (!buttons.children.length) buttons.remove();
    let place = image; // and the paragraph, or the link to the picture, that holds nothing else
    while (/^(A|P)$/.test(place.parentElement.tagName) && place.parentElement.children.length === 1) place = place.parentElement;
    place.replaceWith(frame);
    new ResizeObserver(() => {
      const room = Math.floor(Math.min(holder.clientWidth, 720));
      if (room > 0 && room !== width) { width = room; draw(); }
    }).observe(holder);
  }

  /** The still picture of a figure, as a file: its colours are in it, for light and for dark. */
  function still(figure, style, width = 640) {
    const state = figure.fix ? figure.fix(initial(figure)) : initial(figure);
    return figure.draw(state, width).replace("><", `><style>${style}</style><`) + "\n";
  }

  svt.initial = initial;
  svt.mount = mount;
  svt.still = still;
})();
