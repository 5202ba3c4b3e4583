// A form whose answer shows a secret is sent once: a double click would show the second answer, which has none.
for (const form of document.querySelectorAll("form[data-once]")) {
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; }); // back again by the browser's button
}
