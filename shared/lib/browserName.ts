import Bowser from 'bowser';

/** Browser and system of a `User-Agent` header; null if they are unknown. */
export interface BrowserName {
  name: string | null;
  system: string | null;
}

/** Parses the names of the browser and of the system, or of the device if that says more. */
export function parseBrowserName(userAgent: string): BrowserName {
  // The parser rejects an empty header.
  if (userAgent === '') return { name: null, system: null };
  const parser = Bowser.getParser(userAgent);
  const system = parser.getOSName() || null;
  const device = system === 'iOS' ? parser.getPlatform().model : undefined;
  return { name: parser.getBrowserName() || null, system: device ?? system };
}
