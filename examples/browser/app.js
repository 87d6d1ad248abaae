// The page: draws, asks, and shows who received what.

import { connect } from "./tacit-client.js";
import { makePad } from "./pad.js";
import { drawBytes, drawInk, drawNumbers, ofDrawing } from "./picture.js";

const find = (id) => document.getElementById(id);
const [pad, ask, status, bars, parties] = ["pad", "ask", "status", "bars", "parties"].map(find);
const told = (name) => document.querySelector(`meta[name="tacit-${name}"]`).content;
const addresses = told("parties").split(" ");
let asking = false;

/** An element with a text. */
function made(kind, text = "", more = {}) {
  return Object.assign(document.createElement(kind), { textContent: text, ...more });
}

function say(words, isBad = false) {
  status.textContent = words;
  status.classList.toggle("bad", isBad);
}

const cards = addresses.map((address, i) => {
  const canvas = made("canvas", "", { width: 32, height: 16, role: "img", ariaLabel: "Nothing yet" });
  const size = made("p", "Nothing yet.");
  const card = made("li");
  card.append(made("h3", `Party ${i}`), made("p", address.replace(/^https?:\/\//, "")), canvas, size);
  parties.append(card);
  return { canvas, size };
});

const rows = Array.from({ length: 10 }, (_, digit) => {
  const [row, outer, inner, share] = [made("li"), made("span", "", { className: "bar" }), made("span"), made("span", "–")];
  inner.style.width = "0";
  outer.append(inner);
  row.append(made("span", String(digit)), outer, share);
  bars.append(row);
  return { row, inner, share };
});

function show(probabilities) {
  const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
  rows.forEach(({ row, inner, share }, digit) => {
    const percent = 100 * (probabilities?.[digit] ?? 0);
    inner.style.width = `${percent}%`;
    share.textContent = probabilities ? `${percent.toFixed(1)} %` : "–";
    row.classList.toggle("best", digit === best);
  });
  find("digit").textContent = best < 0 ? "·" : String(best);
}

function showShares(shares, numbers) {
  shares.forEach((share, i) => {
    const { canvas, size } = cards[i];
    drawBytes(canvas, share);
    // A share has a byte or more of every number; fewer are secrets by which parties know the request.
    const words = share.length >= numbers
      ? "Alone they are random: any digit would look like this."
      : "Nothing of the digit: it only helps the others.";
    canvas.ariaLabel = `${share.length} random bytes, drawn as greys`;
    size.textContent = `${share.length} bytes. ${words}`;
  });
}

function changed() {
  const numbers = ofDrawing(pad);
  drawNumbers(find("small"), numbers);
  ask.disabled = asking || numbers === null;
}

function softmax(logits) {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (value) => Math.exp(value - most));
  const sum = powers.reduce((all, value) => all + value, 0);
  return powers.map((value) => value / sum);
}

async function question() {
  const numbers = ofDrawing(pad);
  if (numbers === null || asking) return;
  asking = ask.disabled = true;
  show(null);
  say("Asking …");
  try {
    const key = find("key").value.trim();
    const client = connect(addresses, { ...(key && { key }), timeout: 30 });
    const found = await client.predict(told("model"), numbers, { onShares: (shares) => showShares(shares, numbers.length) });
    const { described } = found;
    if (found.values.length !== rows.length) throw new Error("the model does not tell ten digits apart");
    const probabilities = described.reveal === "probabilities" ? Array.from(found.values) : softmax(found.values);
    show(probabilities);
    const best = Math.max(...probabilities);
    say(`It is a ${probabilities.indexOf(best)}, at ${(100 * best).toFixed(1)} %. Answered in ${Math.round(found.milliseconds)} ms.`);
    const trusts = described.security.startsWith("semi-honest")
      ? "It trusts the parties to compute as agreed: a false computation would not be seen. "
      : "";
    find("facts").textContent =
      `Protocol ${described.protocol} (${described.security}). ${trusts}The parties had the request for ` +
      `${found.served.map((each) => Math.round(each)).join(", ")} ms. Plan ${described.digest.slice(0, 16)}…, request ${found.id}.`;
  } catch (error) {
    say(error.message, true);
  } finally {
    asking = false;
    changed();
  }
}

async function choose(event) {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  try {
    const picture = await createImageBitmap(file);
    drawInk(picture, pad, getComputedStyle(pad).color);
    picture.close();
    say("The picture is ready: ask.");
  } catch {
    say("This file is no picture that the browser can read.", true);
  }
  changed();
}

const { clear } = makePad(pad, changed);
// Where the pen of the keys is, shown and said.
pad.addEventListener("pen", ({ detail: { x, y, isDown } }) => {
  const [left, top] = [x, y].map((value) => `${Math.round((100 * value) / pad.width)}%`);
  const pen = find("pen");
  pen.hidden = false;
  pen.classList.toggle("down", isDown);
  Object.assign(pen.style, { left, top });
  say(`Pen ${isDown ? "down" : "up"}, ${left} from the left, ${top} from the top.`);
});
for (const away of ["pointerdown", "blur"]) pad.addEventListener(away, () => (find("pen").hidden = true));
ask.addEventListener("click", question);
find("file").addEventListener("change", choose);
find("clear").addEventListener("click", () => {
  clear();
  show(null);
  say("Draw a digit, then ask.");
});
show(null);
changed();
say("Draw a digit, then ask.");
