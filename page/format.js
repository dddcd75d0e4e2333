// Numbers, money and times as people read them. Amounts come as decimal texts and are only ever shown from here: nothing is
// reckoned with them that is booked.

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const tenth = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const hundredth = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

export const count = (n) => whole.format(n);
export const oneDecimal = (n) => tenth.format(n);

/// "1,234.50"; what is less than a cent does not look like nothing.
export function amount(decimal) {
  const value = Number(decimal);
  return value > 0 && value < 0.005 ? "< 0.01" : cents.format(value);
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

/// Seconds → "45 s", "12 min", "3 h 05 min", "2 d 4 h".
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const since = (time, now) => span((new Date(now) - new Date(time)) / 1000);

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export const timeOfDay = (time) => clock.format(new Date(time));
/// The hour today, with its day before that.
export function when(time) {
  if (!time) return "–";
  const date = new Date(time);
  return (date.toDateString() === new Date().toDateString() ? clock : day).format(date);
}
export const fullTime = (time) => (time ? full.format(new Date(time)) : "–");
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
