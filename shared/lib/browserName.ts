import Bowser from 'bowser';

/** Describes the browser and the system of a `User-Agent` header, so that the owner of a session recognizes it. */
export function describeBrowser(userAgent: string): string {
  // The parser rejects an empty header.
  if (userAgent === '') return 'Unknown browser';
  const parser = Bowser.getParser(userAgent);
  const system = parser.getOSName();
  const device = system === 'iOS' ? parser.getPlatform().model : undefined;
  const name = parser.getBrowserName() || 'Unknown browser';
  return system ? `${name} on ${device ?? system}` : name;
}
