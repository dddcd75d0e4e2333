// Before the first paint: the colours that were chosen with the switch; without a choice those of the system.
"use strict";
try {
  const theme = localStorage.getItem("stint-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden here: the system's colours it is.
}
