// From a drawing or a picture to the numbers that the model takes, as its data was made: a digit fills
// 32 x 32 points that are ink or not, and each of 8 x 8 numbers is how much ink a block of 4 x 4 has.

const POINTS = 32;
const SIDE = 8;

/** The 64 numbers of a drawing, whose ink is what is not transparent; `null` of an empty one. */
export function ofDrawing(canvas) {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return shrink(width, height, (at) => data[4 * at + 3] > 127);
}

/** Draws a picture's ink: what is darker than the rest, or lighter if its edge is dark. */
export function drawInk(picture, canvas, colour) {
  const side = canvas.width;
  const draft = new OffscreenCanvas(side, side).getContext("2d", { willReadFrequently: true });
  const scale = Math.min(side / picture.width, side / picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const [left, top] = [Math.round((side - width) / 2), Math.round((side - height) / 2)];
  const [right, bottom] = [Math.min(left + Math.ceil(width), side), Math.min(top + Math.ceil(height), side)];
  draft.fillStyle = "white";
  draft.fillRect(0, 0, side, side);
  draft.drawImage(picture, left, top, width, height);
  const { data } = draft.getImageData(0, 0, side, side);
  const grey = (x, y) => {
    const at = 4 * (y * side + x);
    return 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
  };
  let [edge, count, least, most] = [0, 0, 255, 0];
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const value = grey(x, y);
      least = Math.min(least, value);
      most = Math.max(most, value);
      if (x === left || y === top || x === right - 1 || y === bottom - 1) {
        edge += value;
        count += 1;
      }
    }
  }
  const middle = (least + most) / 2;
  const isDark = edge / count < middle;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, side, side);
  context.fillStyle = colour;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      if (grey(x, y) > middle === isDark) context.fillRect(x, y, 1, 1);
    }
  }
}

/** The ink within its bounds, made as large as the points are, in blocks. */
function shrink(width, height, isInk) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let at = 0; at < width * height; at++) {
    if (!isInk(at)) continue;
    const [x, y] = [at % width, Math.floor(at / width)];
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  if (right < 0) return null;
  const step = Math.max(right - left + 1, bottom - top + 1) / POINTS;
  const startX = (left + right + 1 - step * POINTS) / 2;
  const startY = (top + bottom + 1 - step * POINTS) / 2;
  const numbers = new Float32Array(SIDE * SIDE);
  for (let row = 0; row < POINTS; row++) {
    for (let column = 0; column < POINTS; column++) {
      const x = Math.floor(startX + (column + 0.5) * step);
      const y = Math.floor(startY + (row + 0.5) * step);
      if (x < 0 || y < 0 || x >= width || y >= height || !isInk(y * width + x)) continue;
      numbers[Math.floor(row / 4) * SIDE + Math.floor(column / 4)] += 1 / 16;
    }
  }
  return numbers;
}

/** Draws numbers from 0 to 1 as greys, ink dark. */
export function drawNumbers(canvas, numbers) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(SIDE, SIDE);
  image.data.fill(255);
  numbers?.forEach((value, i) => image.data.fill(Math.round(255 * (1 - value)), 4 * i, 4 * i + 3));
  context.putImageData(image, 0, 0);
}

/** Draws bytes as greys, in lines of 32 or more. */
export function drawBytes(canvas, bytes) {
  canvas.width = Math.max(32, 8 * Math.ceil(Math.sqrt(2 * bytes.length) / 8));
  canvas.height = Math.max(canvas.width / 2, Math.ceil(bytes.length / canvas.width));
  const image = new ImageData(canvas.width, canvas.height);
  bytes.forEach((byte, i) => image.data.set([byte, byte, byte, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}
