import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { appendRunEvent } from './runEvents.ts';

const EXECUTABLE_NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** A browser of this machine, or undefined. */
const EXECUTABLE = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => EXECUTABLE_NAMES.map((name) => join(folder, name)))
  .find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

/** Starts a real browser, without a window. Where the machine has none, the tests of the suite are skipped, and say so. */
export async function launchBrowser(suite: Mocha.Context): Promise<Browser> {
  if (EXECUTABLE === undefined) {
    appendRunEvent({
      kind: 'skip',
      file: suite.test?.file ?? '',
      reason: `none of ${EXECUTABLE_NAMES.join(', ')} is on the PATH`,
    });
    return suite.skip();
  }
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
