/**
 * Returns true if the text is a URL. `URL.canParse` of Node 20 rejects texts with Latin-1 characters, such as
 * `https://bücher.example/`, once the engine has optimized its caller.
 */
export function canParseUrl(text: string, base?: string): boolean {
  try {
    return new URL(text, base).href !== '';
  } catch {
    return false;
  }
}
