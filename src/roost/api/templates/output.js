// Adds what a job prints to its page, until it has ended.
"use strict";
const prefix = document.body.dataset.prefix;
const keptBytes = 256 * 1024;
const pauseMs = 1500;

function bytesOf(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
}

async function follow(box) {
  const {job, stream} = box.dataset;
  const decoder = new TextDecoder();
  let offset = Number(box.dataset.next);
  for (;;) {
    await new Promise(done => setTimeout(done, pauseMs));
    if (document.hidden) continue;
    const reply = await fetch(`${prefix}/api/v1/jobs/${job}/output?stream=${stream}&offset=${offset}`).catch(() => null);
    if (reply === null) continue;
    if (!reply.ok) return;
    const found = await reply.json();
    const data = bytesOf(found.data);
    if (found.missing) {
      if (found.ended) return;
      continue;
    }
    if (found.size < offset) {
      // The job has begun again.
      box.textContent = "";
      offset = 0;
      continue;
    }
    offset = found.offset + data.length;
    if (data.length) {
      const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
      box.textContent = (box.textContent + decoder.decode(data, {stream: true})).slice(-keptBytes);
      if (box.nextElementSibling) box.nextElementSibling.remove();
      if (atEnd) box.scrollTop = box.scrollHeight;
    } else if (found.ended) {
      return;
    }
  }
}

for (const box of document.querySelectorAll("pre.output")) {
  box.scrollTop = box.scrollHeight;
  if (box.dataset.live) follow(box);
}
