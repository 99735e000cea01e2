// Where a page shows a picture svt_NAME.svg, the figure NAME takes its place. Other pages load nothing but this.
"use strict";
(() => {
  const PARTS = ["losses.js", "laws.js", "charts.js", "rows.js", "gate_figures.js", "proof_figures.js", "mounting.js"];
  const here = document.currentScript.src;
  let loaded = null;

  const load = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: new URL(name, here).href, async: false, onload: resolve, onerror: reject });
    document.head.append(script);
  });

  async function start() {
    const images = [...document.querySelectorAll("img[src*='svt_']")];
    const named = images.map((image) => [image, /\/svt_(\w+)\.svg$/.exec(image.src)?.[1]]).filter(([, name]) => name);
    if (!named.length) return;
    loaded ??= Promise.all(PARTS.map(load));
    await loaded;
    for (const [image, name] of named) if (svt.figures[name]) svt.mount(image, svt.figures[name]);
  }

  if (globalThis.document$) document$.subscribe(start); // a theme that changes pages without loading them
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
