// What a person keeps for herself: conditions by their names, and notes on answers. It lies in this browser alone, under the
// dataset and the name of the token, and nothing of it is sent. It stays when one signs out, and is deleted under "Who am I".

import { session } from "./session.js";

const place = () => `kept ${JSON.stringify([session.served.dataset, session.who.name])}`;

// Read anew each time: another tab may have written. What is not as it was written here counts as nothing.
export function kept() {
  try {
    const { conditions, notes } = JSON.parse(localStorage.getItem(place()));
    return { conditions: new Map(conditions), notes: new Map(notes) };
  } catch {
    return { conditions: new Map(), notes: new Map() };
  }
}

// Change one of the two: an empty text deletes. What went wrong, in words, or nothing.
export function keep(kind, name, text) {
  const all = kept();
  if (text) all[kind].set(name, text);
  else all[kind].delete(name);
  try {
    localStorage.setItem(place(), JSON.stringify({ conditions: [...all.conditions], notes: [...all.notes] }));
    return "";
  } catch {
    return "This browser does not keep it: its storage is full, or switched off.";
  }
}

export function forgetKept() { localStorage.removeItem(place()); }
