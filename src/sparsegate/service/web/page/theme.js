// Light or dark: as the system says, until the switch is used; then as it says, also next time.
// A plain script, so that it runs before anything is drawn.

const saved = localStorage.getItem("theme");
if (saved === "light" || saved === "dark") document.documentElement.dataset.theme = saved;

// A proxy may bound the requests of an address, which many people can share. A part of the page that was refused is asked
// for again, a little later.
addEventListener("error", (event) => {
  if (event.target?.matches?.("script, link")) setTimeout(() => location.reload(), 1500 + 1500 * Math.random());
}, true);

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
  const other = () => (now() === "dark" ? "light" : "dark");
  const label = () => { button.textContent = other() === "dark" ? "Dark" : "Light"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = other();
    localStorage.setItem("theme", now());
    label();
  });
  system.addEventListener("change", label);
  label();
});
