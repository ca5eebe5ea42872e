import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Replaces a folder with a new one once that is complete, so that processes can be started from the folder meanwhile.
 * If the work fails, the folder stays as it is.
 * @param write writes the new folder.
 */
export async function replaceFolder(folder: string, write: (added: string) => Promise<void>): Promise<void> {
  const [added, replaced] = [`${folder}.new`, `${folder}.old`];
  remove(added);
  remove(replaced);
  await write(added);
  if (existsSync(folder)) renameSync(folder, replaced);
  renameSync(added, folder);
  remove(replaced);
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
