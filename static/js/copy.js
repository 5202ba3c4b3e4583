// An id or a digest that is shown in short copies itself in full on a click, or on Enter.
for (const shown of document.querySelectorAll("[data-copy]")) {
  const copy = async () => {
    const text = shown.textContent;
    await navigator.clipboard.writeText(shown.dataset.copy);
    shown.textContent = "Copied";
    setTimeout(() => { shown.textContent = text; }, 1200);
  };
  if (!navigator.clipboard) break; // only over TLS and on this machine
  shown.setAttribute("role", "button");
  shown.setAttribute("aria-label", `Copy ${shown.dataset.copy}`);
  shown.tabIndex = 0;
  shown.addEventListener("click", copy);
  shown.addEventListener("keydown", (event) => { if (event.key === "Enter") copy(); });
}
