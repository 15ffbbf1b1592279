// Shows how far a simulation is, and its result when it is there.
"use strict";
const prefix = document.body.dataset.prefix;
const bar = document.getElementById("progress");
const share = document.getElementById("share");

async function look() {
  try {
    const reply = await fetch(`${prefix}/api/v1/lab/runs/${encodeURIComponent(bar.dataset.run)}`);
    const run = await reply.json();
    if (!reply.ok || run.state !== "running") {
      location.reload();
      return;
    }
    bar.value = run.progress;
    share.textContent = `${Math.round(run.progress * 100)} %`;
  } catch {
    share.textContent = "The server does not answer.";
  }
  setTimeout(look, 1000);
}
setTimeout(look, 500);
