// A canvas that is drawn on with finger, mouse, pen or keys.

const THICK = 26;
const STEP = 12;

/** Makes a canvas a drawing pad; `changed` is called after every stroke. */
export function makePad(canvas, changed) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let pen = { x: canvas.width / 2, y: canvas.height / 2, isDown: false };

  const line = (x, y) => {
    context.strokeStyle = getComputedStyle(canvas).color;
    Object.assign(context, { lineWidth: THICK, lineCap: "round", lineJoin: "round" });
    context.beginPath();
    context.moveTo(pen.x, pen.y);
    context.lineTo(x, y);
    context.stroke();
    changed();
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  const clear = () => {
    context.clearRect(0, 0, canvas.width, canvas.height);
    pen.isDown = false;
    changed();
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = place(event);
    pen = { x, y, isDown: true };
    line(x, y);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pen.isDown || !canvas.hasPointerCapture(event.pointerId)) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) {
      const [x, y] = place(each);
      line(x, y);
      pen = { ...pen, x, y };
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => (pen.isDown = false));
  }

  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const within = (value) => Math.min(Math.max(value, THICK / 2), canvas.width - THICK / 2);
  canvas.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (move) {
      const [x, y] = [within(pen.x + STEP * move[0]), within(pen.y + STEP * move[1])];
      if (pen.isDown) line(x, y);
      pen = { ...pen, x, y };
    } else if (event.key === " ") {
      pen.isDown = !pen.isDown;
      if (pen.isDown) line(pen.x, pen.y);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      clear();
    } else {
      return;
    }
    event.preventDefault();
    canvas.dispatchEvent(new CustomEvent("pen", { detail: pen }));
  });
  return { clear };
}
