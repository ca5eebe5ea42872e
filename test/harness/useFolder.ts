import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a folder for a suite, which is deleted after its tests, and emptied after each if `isCleared`. */
export function useFolder({ isCleared = false } = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'genmeter-'));
  if (isCleared)
    afterEach(() => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
    });
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
