/**
 * Writes a line of CSV (RFC 4180). Texts are quoted where needed, and none is a formula, which a spreadsheet would run.
 */
export function toCsvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(toCell).join(',')}\r\n`;
}

function toCell(text: string | number): string {
  if (typeof text === 'number') return String(text);
  const isFormula = /^[=+\-@\t\r\n]/.test(text) && !/^-?\d+$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
