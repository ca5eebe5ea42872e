/** Shortens a text to a number of characters, the last of which is an ellipsis. */
export function truncateText(text: string, characters: number): string {
  const all = Array.from(text);
  if (all.length <= characters) return text;
  const start = all.slice(0, characters - 1).join('');
  return `${start.trimEnd()}…`;
}
