import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { appendRunEvent } from './runEvents.ts';

const EXECUTABLE_NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Path of a browser on this machine, or undefined. */
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

/** Starts a real, headless browser. If the machine has none, skips the tests of the suite and reports that. */
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
