"use strict";
// Runs before the first paint: sets the chosen colours, and marks that scripts run.
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("plackett.theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden; the system's colours apply */ }
