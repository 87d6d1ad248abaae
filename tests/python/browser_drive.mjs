// Drives a real browser over the demo page, and writes down what happened: node browser_drive.mjs SETTINGS.json

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(settings.client)("playwright-core");
const quiet = ["disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"];
const browser = await chromium.launch({
  executablePath: settings.browser,
  chromiumSandbox: false,
  args: quiet.map((name) => `--${name}`),
});
const seen = {};

/** A page of its own, with what it asked and complained of. */
async function opened(url, options = {}, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 760, height: 900 }, ...options });
  const page = await context.newPage();
  const all = { asked: [], posts: [], complaints: [] };
  page.on("console", (message) => message.type() === "error" && all.complaints.push(message.text()));
  page.on("pageerror", (error) => all.complaints.push(String(error)));
  page.on("request", (request) => {
    all.asked.push(request.url());
    if (request.method() !== "POST") return;
    all.posts.push({ url: request.url(), headers: request.headers(), body: request.postDataBuffer().toString("base64") });
  });
  await prepare(page);
  await page.goto(url);
  return { page, ...all };
}

async function draw(page, strokes) {
  const box = await page.locator("#pad").boundingBox();
  const place = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  for (const [first, ...rest] of strokes) {
    await page.mouse.move(...place(first));
    await page.mouse.down();
    for (const point of rest) await page.mouse.move(...place(point), { steps: 4 });
    await page.mouse.up();
  }
}

async function answered(page) {
  await page.click("#ask");
  await page.waitForFunction(() => {
    const status = document.getElementById("status");
    return status.textContent.startsWith("It is") || status.classList.contains("bad");
  }, null, { timeout: 30000 });
  return await shown(page);
}

/** What the page shows, and the numbers that it shares. */
async function shown(page) {
  return await page.evaluate(async () => {
    const { ofDrawing } = await import("/picture.js");
    const texts = (query) => Array.from(document.querySelectorAll(query), (each) => each.textContent);
    const bytes = Array.from(document.querySelectorAll("#parties canvas"), (canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return Array.from({ length: data.length / 4 }, (_, i) => i).filter((i) => data[4 * i + 3]).map((i) => data[4 * i]);
    });
    return {
      numbers: Array.from(ofDrawing(document.getElementById("pad")) ?? []),
      digit: document.getElementById("digit").textContent,
      shares: texts("#bars li > :last-child"),
      status: document.getElementById("status").textContent,
      isBad: document.getElementById("status").classList.contains("bad"),
      facts: document.getElementById("facts").textContent,
      parties: texts("#parties li"),
      bytes,
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });
}

const pictures = [];
const { strokes, url } = settings;

for (const colorScheme of ["light", "dark"]) {
  const { page, ...all } = await opened(url, { colorScheme });
  await draw(page, strokes);
  seen[colorScheme] = { ...(await answered(page)), ...all };
  await page.evaluate(() => document.activeElement?.blur());
  await page.waitForTimeout(400);
  pictures.push(await page.screenshot({ fullPage: true }));
  await page.context().close();
}

{
  const phone = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };
  const { page, ...all } = await opened(url, phone);
  await page.setInputFiles("#file", settings.picture);
  await page.waitForFunction(() => !document.getElementById("ask").disabled);
  seen.phone = { ...(await answered(page)), ...all };
  seen.phone.low = await page.$$eval("button, .button, input[type=password]", (all) =>
    all.filter((one) => one.offsetHeight && one.offsetHeight < 44).map((one) => one.textContent));
  await page.waitForTimeout(400);
  if (settings.phone) writeFileSync(settings.phone, await page.screenshot({ fullPage: true }));
  await page.context().close();
}

{
  const { page, ...all } = await opened(url);
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
  const order = [];
  await page.keyboard.press("Tab");
  order.push(await focused());
  await page.keyboard.press("Space");
  for (let i = 0; i < 8; i++) await page.keyboard.press("ArrowUp");
  const drawn = await shown(page);
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press("Tab");
    order.push(await focused());
  }
  await page.focus("#pad");
  await page.keyboard.press("Delete");
  seen.keys = { order, drawn, cleared: await shown(page), ...all };
  await page.context().close();
}

const harm = {
  // A file that was changed on the way, and one that the core is not.
  script: (page) => page.route("**/tacit-client.js", async (route) => {
    const got = await route.fetch();
    await route.fulfill({ response: got, body: `${await got.text()}\n` });
  }),
  core: (page) => page.route("**/tacit.wasm", async (route) => {
    const got = await route.fetch();
    const body = await got.body();
    body[body.length - 1] ^= 1;
    await route.fulfill({ response: got, body });
  }),
  randomness: (page) => page.addInitScript(() => {
    crypto.getRandomValues = () => { throw new Error("dry"); };
  }),
};
for (const [what, prepare] of Object.entries(harm)) {
  const { page, ...all } = await opened(url, {}, prepare);
  await draw(page, strokes);
  seen[what] = { ...(await (what === "script" ? shown(page) : answered(page))), ...all };
  await page.context().close();
}

{
  const { page, ...all } = await opened(settings.stranger);
  await draw(page, strokes);
  seen.stranger = { ...(await answered(page)), ...all };
  // What a script that got into the page could do: reach someone else, or write markup.
  seen.stranger.refused = await page.evaluate(async () => {
    const refused = new Promise((resolve) => document.addEventListener("securitypolicyviolation", resolve, { once: true }));
    await fetch("http://127.0.0.1:9/").catch(() => undefined);
    return (await Promise.race([refused, new Promise((resolve) => setTimeout(resolve, 2000))]))?.effectiveDirective;
  });
  seen.stranger.written = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<p>";
      return "yes";
    } catch (error) {
      return error.name;
    }
  });
  await page.context().close();
}

if (settings.screenshot) {
  const page = await browser.newPage({ viewport: { width: 1530, height: 100 } });
  const images = pictures.map((bytes) => `<img src="data:image/png;base64,${bytes.toString("base64")}">`).join("");
  await page.setContent(`<style>body{margin:0;display:flex;align-items:flex-start;gap:10px}</style>${images}`);
  await page.screenshot({ path: settings.screenshot, fullPage: true });
}
await browser.close();
writeFileSync(settings.seen, JSON.stringify(seen));
