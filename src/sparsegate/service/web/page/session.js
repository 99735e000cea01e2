// Who is here: the token, whose it is, and what is served. The token is kept in this tab alone.

import { get, useToken } from "./api.js";

export const session = { who: null, served: null };

export const isOwner = () => session.who?.role === "owner";

// Whom a count counts.
export const counted = () => (session.served?.unit === "user" ? "people" : "rows");

export function storedToken() { return sessionStorage.getItem("token"); }

export async function signIn(text) {
  useToken(text);
  [session.served, session.who] = await Promise.all([get("/v1/schema"), get("/v1/whoami")]);
  sessionStorage.setItem("token", text);
}

// Nothing of it stays, in memory or in storage. (Light or dark is in another storage, and says nothing.)
export function signOut() {
  useToken(null);
  sessionStorage.clear();
  Object.assign(session, { who: null, served: null });
}

// A token as people paste it: out of a letter that put it in quotes, or broke the line.
export function tokenIn(text) {
  return /sg_[A-Za-z0-9_-]{43}/.exec(text.replace(/[\s\u200b\u00ad]/g, ""))?.[0] ?? null;
}
