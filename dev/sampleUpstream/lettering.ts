interface PanelLayout {
  prompt: string;
  width: number;
  height: number;
}

const FONT = 'font-family="DejaVu Sans, sans-serif"';
const MAX_LINES = 7;
/** Width of an average letter of the font, relative to its size. */
const LETTER_WIDTH = 0.62;

/** Draws the prompt in a panel, a caption under it, and the word SAMPLE across the picture. */
export function drawPromptPanel({ prompt, width, height }: PanelLayout, caption: string): string {
  const unit = Math.min(width, height) / 100;
  const size = unit * 4.2;
  const margin = unit * 5;
  const panelWidth = width - margin * 2;
  const lines = wrapText(toPrintableXml(prompt), Math.floor((panelWidth - margin * 1.2) / (size * LETTER_WIDTH)));
  const panelHeight = lines.length * size * 1.35 + size * 2.1;
  const top = height - margin - panelHeight;
  const text = lines.map(
    (line, index) =>
      `<text x="${margin * 1.6}" y="${top + size * 1.5 + index * size * 1.35}" font-size="${size}" fill="#ffffff">${escapeXml(line)}</text>`,
  );
  const stampSize = Math.min(unit * 22, (width / 6) * 1.15);
  return `<g ${FONT}>
<text x="${width / 2}" y="${height * 0.36}" font-size="${stampSize}" font-weight="bold" text-anchor="middle" letter-spacing="${stampSize * 0.06}"
 fill="#ffffff" fill-opacity="0.55" stroke="#000000" stroke-opacity="0.25" stroke-width="${unit * 0.3}">SAMPLE</text>
<rect x="${margin}" y="${top}" width="${panelWidth}" height="${panelHeight}" rx="${unit * 2}" fill="#10121a" fill-opacity="0.62"/>
${text.join('\n')}
<text x="${margin * 1.6}" y="${top + panelHeight - size * 0.6}" font-size="${size * 0.6}" fill="#d5d8e2">${escapeXml(caption)}</text></g>`;
}

/**
 * Breaks text into lines of at most `columns` letters, splitting long words, and ends truncated text with an ellipsis.
 */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((word) => splitLongWord(word, columns))) {
    if (line !== '' && measureColumns(line) + 1 + measureColumns(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES - 1), `${truncateToColumns(lines[MAX_LINES - 1]!, columns - 2)} …`];
}

function splitLongWord(word: string, columns: number): string[] {
  const found: string[] = [];
  for (let rest = word; rest !== ''; rest = rest.slice(found.at(-1)!.length))
    found.push(truncateToColumns(rest, columns));
  return found;
}

/** Returns as much of the beginning as fits, at least one letter and never half of one. */
function truncateToColumns(text: string, columns: number): string {
  let end = 0;
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += measureColumns(segment);
    if (used > columns && end > 0) break;
    end += segment.length;
  }
  return text.slice(0, end);
}

/** Measures text in columns: letters of East Asian scripts and pictograms are about twice as wide as Latin ones. */
function measureColumns(text: string): number {
  let columns = 0;
  for (const letter of text) columns += letter.codePointAt(0)! >= 0x1100 ? 2 : 1;
  return columns;
}

/** Removes control characters and lone surrogates, which XML cannot represent. */
function toPrintableXml(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD')
    .trim();
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
