import { parseBrowserName } from '../../../shared/lib/browserName.ts';
import { t } from '../texts.ts';

/** Describes the browser and the system of a `User-Agent` header, so that the owner of a session recognizes it. */
export function describeBrowser(userAgent: string): string {
  const { name, system } = parseBrowserName(userAgent);
  const browser = name ?? t.unknownBrowser();
  return system === null ? browser : t.browserOn({ browser, system });
}
