/** A picture as three planes, the colour ones at half the size, which is the input of video encoders. */
export interface ColorPlanes {
  width: number;
  height: number;
  data: Uint8Array;
}

/** Lettering for every frame: position, opacity (0 to 256) and light share of each sample that it touches. */
export interface Lettering {
  width: number;
  height: number;
  places: Uint32Array;
  keeps: Uint16Array;
  adds: Uint16Array;
}

/** Converts RGBA pixels to limited-range BT.709 planes, which players assume for HD film without other metadata. */
export function toPlanes(rgba: Uint8Array, width: number, height: number): ColorPlanes {
  const data = new Uint8Array((width * height * 3) / 2);
  forEachSample(rgba, width, height, (place, value) => {
    data[place] = value;
  });
  return { width, height, data };
}

/** Prepares RGBA lettering for `drawOver`, keeping only the samples that it touches. */
export function prepareLettering(rgba: Uint8Array, width: number, height: number): Lettering {
  const places: number[] = [];
  const keeps: number[] = [];
  const adds: number[] = [];
  forEachSample(rgba, width, height, (place, value, alpha) => {
    if (alpha === 0) return;
    const opacity = Math.round((alpha * 256) / 255);
    places.push(place);
    keeps.push(256 - opacity);
    adds.push(value * opacity + 128);
  });
  return {
    width,
    height,
    places: Uint32Array.from(places),
    keeps: Uint16Array.from(keeps),
    adds: Uint16Array.from(adds),
  };
}

/** Fills a frame with the picture, shifted by `offset` pixels (an even number) and wrapped around its edge. */
export function drawPannedFrame(frame: Uint8Array, { width, height, data }: ColorPlanes, offset: number): void {
  let start = 0;
  for (const scale of [1, 2, 2]) {
    const rowLength = width / scale;
    const shift = offset / scale;
    for (let row = 0; row < height / scale; row += 1, start += rowLength) {
      frame.set(data.subarray(start + shift, start + rowLength), start);
      frame.set(data.subarray(start, start + shift), start + rowLength - shift);
    }
  }
}

/** Draws the lettering on a frame, and a progress bar along its lower edge. */
export function drawLettering(frame: Uint8Array, lettering: Lettering, progress: number): void {
  const { width, height, places, keeps, adds } = lettering;
  for (let index = 0; index < places.length; index += 1) {
    const place = places[index]!;
    frame[place] = (frame[place]! * keeps[index]! + adds[index]!) >> 8;
  }
  const barHeight = Math.round(height / 90);
  const barWidth = Math.round(width * progress);
  for (let row = height - barHeight; row < height; row += 1) frame.fill(235, row * width, row * width + barWidth);
}

function forEachSample(
  rgba: Uint8Array,
  width: number,
  height: number,
  visit: (place: number, value: number, alpha: number) => void,
): void {
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const at = pixel * 4;
    const light = 0.1826 * rgba[at]! + 0.6142 * rgba[at + 1]! + 0.062 * rgba[at + 2]!;
    visit(pixel, Math.round(16 + light), rgba[at + 3]!);
  }
  const blueStart = width * height;
  const redStart = blueStart + (width * height) / 4;
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      const at = (y * width + x) * 4;
      const place = (y / 2) * (width / 2) + x / 2;
      const [red, green, blue, alpha] = [rgba[at]!, rgba[at + 1]!, rgba[at + 2]!, rgba[at + 3]!];
      visit(blueStart + place, Math.round(128 - 0.1006 * red - 0.3386 * green + 0.4392 * blue), alpha);
      visit(redStart + place, Math.round(128 + 0.4392 * red - 0.3989 * green - 0.0403 * blue), alpha);
    }
  }
}
