// Chooses dark or light before anything is painted: what was chosen last, else what the system wants.
"use strict";
(function () {
  let chosen = null;
  try { chosen = localStorage.getItem("cupel-theme"); } catch { /* A page from disk may have no storage. */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
