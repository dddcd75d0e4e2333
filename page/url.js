// What a view remembers in the address behind its name: #/jobs?state=ended&sort=-cost. A link so copied shows the same to others.

const parameters = () => new URLSearchParams(location.hash.split("?")[1] ?? "");

/// What the address says of `name`.
export const kept = (name, fallback = "") => parameters().get(name) ?? fallback;

/// Puts {name: value} into the address, without a new entry of the browser's history. Empty values leave it.
export function keep(values) {
  const all = parameters();
  for (const [name, value] of Object.entries(values)) {
    if (value) all.set(name, value);
    else all.delete(name);
  }
  const text = all.toString();
  history.replaceState(null, "", location.hash.split("?")[0] + (text ? `?${text}` : ""));
}
