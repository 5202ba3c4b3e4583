// The colours change at once, and what was typed into a form on the page stays.
const scheme = document.querySelector('meta[name="color-scheme"]');
for (const form of document.querySelectorAll("[data-theme-switch]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = event.submitter;
    document.documentElement.dataset.theme = chosen.value;
    scheme.content = chosen.value === "system" ? "light dark" : chosen.value;
    for (const button of form.querySelectorAll("[aria-pressed]")) button.setAttribute("aria-pressed", String(button === chosen));
    fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, chosen)), redirect: "manual" });
  });
}
