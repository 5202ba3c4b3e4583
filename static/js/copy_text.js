// The button beside a text that is shown once copies it. Without script the text is selected and copied by hand.
for (const button of document.querySelectorAll("[data-copy-text]")) {
  if (!navigator.clipboard) break; // only over TLS and on this machine
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copyText).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1200);
  });
}
