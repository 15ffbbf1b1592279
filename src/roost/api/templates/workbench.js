// Lints the policy as it is typed, and marks what the linter found at its place.
"use strict";
const prefix = document.body.dataset.prefix;
const text = document.getElementById("policy");
const marks = document.getElementById("marks");
const findings = document.getElementById("findings");
let asked = 0, waiting = 0;

function element(kind, look, words) {
  const found = document.createElement(kind);
  if (look) found.className = look;
  found.textContent = words;
  return found;
}

function draw(rows) {
  const lines = text.value.split("\n");
  const pieces = [];
  lines.forEach((line, at) => {
    const here = rows.filter(row => row.line === at + 1).sort((a, b) => a.column - b.column);
    let from = 0;
    for (const row of here) {
      const start = Math.max(from, (row.column || 1) - 1), end = row.length ? start + row.length : line.length;
      if (start >= line.length || end <= start) continue;
      pieces.push(line.slice(from, start), element("mark", row.severity, line.slice(start, end)));
      from = Math.min(end, line.length);
    }
    pieces.push(line.slice(from) + "\n");
  });
  marks.replaceChildren(...pieces);
  findings.replaceChildren(...rows.map(row => {
    const found = document.createElement("div");
    found.className = `finding ${row.severity}`;
    const title = element("p", "", `Line ${row.line}: ${row.message}`);
    title.prepend(element("strong", "", `${row.severity} ${row.code} `));
    found.append(title);
    if (row.remedy) found.append(element("p", "remedy", row.remedy));
    return found;
  }));
  if (!rows.length) findings.textContent = "Nothing is wrong with it.";
}

async function lint() {
  const mine = ++asked;
  let reply;
  try {
    reply = await fetch(`${prefix}/api/v1/policy/lint`, {
      method: "POST",
      headers: {"content-type": "application/json", "x-csrf-token": text.dataset.csrf},
      body: JSON.stringify({text: text.value}),
    });
  } catch {
    findings.textContent = "The server does not answer.";
    return;
  }
  const data = await reply.json();
  if (mine !== asked) return;
  if (reply.ok) draw(data.findings);
  else findings.textContent = `${data.detail} ${data.remedy || ""}`;
}

text.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(lint, 250);
});
text.addEventListener("scroll", () => { marks.scrollTop = text.scrollTop; });
document.getElementById("share").addEventListener("click", async () => {
  location.hash = encodeURIComponent(text.value);
  try {
    await navigator.clipboard.writeText(location.href);
    document.getElementById("shared").textContent = "The link is in the clipboard.";
  } catch {
    document.getElementById("shared").textContent = "The link is the address of this page.";
  }
});
if (location.hash.length > 1) text.value = decodeURIComponent(location.hash.slice(1));
lint();
