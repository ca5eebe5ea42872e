/** In this order: most browsers also call themselves something else that stands further down. */
const BROWSER_PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const SYSTEM_PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'an iPhone'],
  [/\biPad\b/, 'an iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'a Mac'],
  [/\bLinux\b/, 'Linux'],
];

/** What a browser is by its own words, roughly: enough for its owner to know it again. */
export function describeBrowser(userAgent: string): string {
  const findName = (known: typeof BROWSER_PATTERNS) => known.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = findName(SYSTEM_PATTERNS);
  return `${findName(BROWSER_PATTERNS) ?? 'A browser'}${system === undefined ? '' : ` on ${system}`}`;
}
