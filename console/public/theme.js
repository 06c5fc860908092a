// Sets the theme before the first paint, so that a dark page does not flash white. console/src/app/theme.ts changes it later.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("olmv1.theme");
  } catch {
    // Storage can be disabled.
  }
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("pf-v6-theme-dark", isDark);
})();
