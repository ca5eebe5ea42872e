import { type Browser, chromium } from 'playwright-core';
import { BROWSER_NAMES, findBrowser } from '../../dev/local/findBrowser.ts';
import { appendRunEvent } from './runEvents.ts';

/** Starts a real, headless browser. If the machine has none, skips the tests of the suite and reports that. */
export async function launchBrowser(suite: Mocha.Context): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    appendRunEvent({
      kind: 'skip',
      file: suite.test?.file ?? '',
      reason: `none of ${BROWSER_NAMES.join(', ')} is on the PATH`,
    });
    return suite.skip();
  }
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // A process less for each browser, and a fifth less processor time for each window.
      '--in-process-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
