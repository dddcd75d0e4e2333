// Numbers, money and times as people read them. Amounts come as decimal texts and are only ever shown from here: nothing is
// reckoned with them that is booked.

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const small = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const tenth = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const hundredth = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

export const count = (n) => whole.format(n);
export const oneDecimal = (n) => tenth.format(n);

/// "1,234.50"; small amounts with the digits that matter, up to four: "0.0012".
export function amount(decimal) {
  const value = Number(decimal);
  if (value === 0 || Math.abs(value) >= 0.1) return cents.format(value);
  return Math.abs(value) < 0.0001 ? "< 0.0001" : small.format(value);
}

/// {amount, currency} → "1,234.50 USD".
export const money = (m) => (m ? `${amount(m.amount)} ${m.currency}` : "–");

/// A small price with the digits that matter: "0.00804 USD".
export const finePrice = (m) => (m ? `${Number(m.amount).toLocaleString("en-GB", { maximumSignificantDigits: 3 })} ${m.currency}` : "–");

export const percent = (share) => `${tenth.format(share * 100)} %`;

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i + 1 < units.length) {
    n /= 1024;
    ++i;
  }
  return `${tenth.format(n)} ${units[i]}`;
}

/// Thousandths of GPUs → "1.25".
export const gpus = (milli) => hundredth.format(milli / 1000);
/// … → "1 GPU", "0.25 GPUs".
export const gpuWords = (milli) => `${gpus(milli)} ${milli === 1000 ? "GPU" : "GPUs"}`;
/// (3, "job") → "3 jobs".
export const things = (n, what) => `${whole.format(n)} ${n === 1 ? what : `${what}s`}`;

/// Words of the daemon as sentences: a capital, a full stop, times as people here read them.
export function sentences(text) {
  return text.split(/;\s+|\.\s+/).map((part) => part.trim()).filter(Boolean)
    .map((part) => `${part[0].toUpperCase()}${part.slice(1)}${/[.!?]$/.test(part) ? "" : "."}`).join(" ")
    .replace(/\d{4}-\d\d-\d\dT[\d:]+(\.\d+)?Z/g, (time) => when(time));
}

/// Seconds → "45 s", "12 min", "3 h 05 min", "3 h", "2 d 4 h".
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const since = (time, now) => span((new Date(now) - new Date(time)) / 1000);

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const exactTime = (time) => seconds.format(new Date(time));
export const timeOfDay = (time) => clock.format(new Date(time));
/// The hour today, with its day before that.
export function when(time) {
  if (!time) return "–";
  const date = new Date(time);
  return (date.toDateString() === new Date().toDateString() ? clock : day).format(date);
}
export const fullTime = (time) => (time ? full.format(new Date(time)) : "–");
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
