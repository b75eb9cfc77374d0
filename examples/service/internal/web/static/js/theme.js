// Applies the chosen appearance before the first paint, so that nothing flashes.
// Not a module, because modules wait for the document.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; then the system's preference holds.
  }
})();
