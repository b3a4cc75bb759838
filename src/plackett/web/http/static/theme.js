"use strict";
// Before anything is drawn: the colours that were chosen, and that there is a script at all.
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("plackett.theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden; then the system's colours it is */ }
