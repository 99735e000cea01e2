// Numbers, amounts and dates as people read them.

import { element } from "./elements.js";

const LONGEST = 12;

export const count = (number) => number.toLocaleString("en");

// A margin, rounded away from what it promises.
export const people = (number) => count(Math.ceil(number));

export const percent = (share) => `${Math.round(1000 * share) / 10} %`;

// An exact decimal. A long one is rounded; the whole of it is in the title.
export function amount(text) {
  return element("span", { class: "amount", title: text.length > LONGEST ? text : null }, short(text));
}

export function short(text) {
  return text.length > LONGEST ? `≈ ${Number(Number(text).toPrecision(6))}` : text;
}

export function utc(stamp) {
  return `${new Date(stamp).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}

export function local(stamp) {
  return new Date(stamp).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

// The local time, with UTC on hover.
export function when(stamp, none = "never") {
  if (!stamp) return element("span", { class: "quiet" }, none);
  return element("time", { datetime: stamp, title: utc(stamp) }, local(stamp));
}
