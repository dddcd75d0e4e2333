// The daemon's API: requests with the session of this browser, which a cookie shows that no script can read, and its stream of events.

let session = false;  // signed in, here or in another tab
export const signedIn = () => session;
export const forget = () => { session = false; };

/// How one may log in here: {provider, signed_in}.
export async function askLogin() {
  const login = await get("/v1/login");
  session = login.signed_in;
  return login;
}

/// In, with a token: it is shown this once and kept nowhere here.
export async function signIn(token) {
  session = (await (await send("POST", "/v1/login", { token })).json()).signed_in;
}

/// Out again, in all tabs of this browser.
export async function signOut() {
  session = false;
  await del("/v1/login");
}

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function send(method, path, { body, accept, signal, code, token } = {}) {
  // The cookie counts only beside this header, which no other site can send.
  const headers = { "Stint-Page": "1" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (accept) headers.Accept = accept;
  if (code) headers["Stint-Code"] = code;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The daemon does not answer.");
  }
  if (response.ok) return response;
  let detail = response.statusText;
  let problem = null;
  try {
    problem = await response.json();
    detail = problem.detail ?? detail;
  } catch {
    // No problem document: the status says it all.
  }
  if (problem?.type === "urn:stint:code-wanted") {
    const typed = window.prompt(code ? detail : "One-time code of your authenticator app");
    if (typed) return send(method, path, { body, accept, signal, code: typed.trim() });
  }
  if (response.status === 401) window.dispatchEvent(new Event("stint-unknown"));
  throw new ApiError(response.status, detail);
}

export const get = async (path) => (await send("GET", path)).json();
export const post = async (path, value) => (await send("POST", path, { body: value === undefined ? undefined : JSON.stringify(value) })).json();
export const put = async (path, text) => (await send("PUT", path, { body: text })).json();
export const del = async (path) => (await send("DELETE", path)).json();
/// The answer itself, for its headers.
export const getRaw = (path) => send("GET", path);

/// As a file of that name. A link of the page's own could not show who asks.
export async function download(path, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await getRaw(path)).blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/// Calls `onEvent({id, kind, data})` for each event behind the one of id `after` (else for the last `before` and those to come), comes
/// back by itself when the line breaks, until `signal`.
/// EventSource cannot send a token, so the stream is read by hand. `onLine(open)` says whether there is one.
export async function follow(after, before, onEvent, onLine, signal) {
  let last = after;
  for (let pause = 1000; !signal.aborted; pause = Math.min(pause * 2, 30_000)) {
    try {
      const from = last ? `after=${encodeURIComponent(last)}` : `last=${before}`;
      const response = await send("GET", `/v1/events?${from}`, { accept: "text/event-stream", signal });
      onLine(true);
      pause = 500;
      let text = "";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const event = parseEvent(text.slice(0, end));
          text = text.slice(end + 2);
          if (!event) continue;
          last = event.id || last;
          onEvent(event);
        }
      }
    } catch (error) {
      if (signal.aborted || error.status === 401 || error.status === 403) return;
    }
    onLine(false);
    await new Promise((wake) => setTimeout(wake, pause));
  }
}

/// Source: HTML Living Standard, section 9.2.6. Comments (heartbeats) have no data.
function parseEvent(block) {
  const event = { id: "", kind: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") event.id = value;
    else if (field === "event") event.kind = value;
    else if (field === "data") event.data += (event.data ? "\n" : "") + value;
  }
  return event.data ? { ...event, data: JSON.parse(event.data) } : null;
}
