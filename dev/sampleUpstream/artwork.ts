import { createHash } from 'node:crypto';
import { drawPromptPanel } from './lettering.ts';

interface Picture {
  prompt: string;
  seed: number;
  width: number;
  height: number;
}

/**
 * Draws the whole picture as SVG: a landscape in colours derived from the prompt, with the prompt and the word SAMPLE
 * on it.
 */
export function renderPictureSvg(picture: Picture, caption: string): string {
  return wrapInSvg(picture, drawLandscape(picture) + drawPromptPanel(picture, caption));
}

/** Draws the landscape alone. Its left edge continues its right one, so that a film can pan over it without end. */
export function renderLandscapeSvg(picture: Picture): string {
  return wrapInSvg(picture, drawLandscape(picture));
}

/** Draws the lettering alone, on a transparent background. */
export function renderLetteringSvg(picture: Picture, caption: string): string {
  return wrapInSvg(picture, drawPromptPanel(picture, caption));
}

/** Derives bytes from the prompt and the seed only: the same request gives the same picture. */
export function computeDigest({ prompt, seed }: { prompt: string; seed: number }): Buffer {
  return createHash('sha256').update(`${seed}:${prompt}`).digest();
}

function wrapInSvg({ width, height }: Picture, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content}</svg>`;
}

function drawLandscape(picture: Picture): string {
  const { width, height } = picture;
  const digest = computeDigest(picture);
  const hue = (digest[0]! / 256) * 360;
  const spread = 25 + digest[1]! / 4;
  const sky = `<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
<stop offset="0" stop-color="${hsl(hue, 55, 32)}"/><stop offset="0.45" stop-color="${hsl(hue + spread, 60, 58)}"/>
<stop offset="0.8" stop-color="${hsl(hue + spread * 2, 75, 80)}"/></linearGradient>
<radialGradient id="sun"><stop offset="0" stop-color="#fffbe8"/><stop offset="0.28" stop-color="#fff3c4"/>
<stop offset="0.3" stop-color="#fff3c4" stop-opacity="0.4"/><stop offset="1" stop-color="#fff3c4" stop-opacity="0"/></radialGradient>`;
  const hills = [0, 1, 2, 3].map((layer) => {
    const colour = hsl(hue + spread * 2 - layer * 22, 42 - layer * 3, 62 - layer * 14);
    return `<path d="${drawRidge(width, height, layer, digest)}" fill="${colour}"/>`;
  });
  return `<defs>${sky}</defs><rect width="${width}" height="${height}" fill="url(#sky)"/>${drawSuns(picture, digest)}${hills.join('')}`;
}

function drawSuns({ width, height }: Picture, digest: Buffer): string {
  const radius = Math.min(width, height) * 0.36;
  const x = (digest[2]! / 256) * width;
  const y = height * (0.25 + digest[3]! / 1024);
  // Drawn three times, since shapes that cross an edge must reappear at the other.
  return [x - width, x, x + width]
    .map((at) => `<circle cx="${at}" cy="${y}" r="${radius}" fill="url(#sun)"/>`)
    .join('');
}

function drawRidge(width: number, height: number, layer: number, digest: Buffer): string {
  const base = height * (0.58 + layer * 0.11);
  const swing = height * (0.07 - layer * 0.008);
  const waves = [1, 2, 3].map((turns, index) => ({
    turns: turns + layer,
    phase: (digest[4 + layer * 3 + index]! / 128) * Math.PI,
    swing: swing / turns,
  }));
  const steps = 160;
  const points = Array.from({ length: steps + 1 }, (_, step) => {
    const turn = (step / steps) * 2 * Math.PI;
    const y = waves.reduce((sum, wave) => sum + wave.swing * Math.sin(wave.turns * turn + wave.phase), base);
    return `L${((step / steps) * width).toFixed(1)} ${y.toFixed(1)}`;
  });
  return `M0 ${height}${points.join('')}L${width} ${height}Z`;
}

function hsl(hue: number, saturation: number, lightness: number): string {
  return `hsl(${Math.round((hue + 360) % 360)}, ${saturation}%, ${lightness}%)`;
}
