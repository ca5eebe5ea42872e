import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_SERVICE_FILE, type LocalService } from '../../../shared/lib/localService.ts';
import { getErrorCode } from '../servers/errorDetails.ts';

/**
 * Writes a record of the running service to the data folder, readable by this user only, since addresses may contain
 * passwords.
 */
export function writeServiceRecord(dataDir: string, service: LocalService): void {
  removeServiceRecord(dataDir);
  writeFileSync(join(dataDir, LOCAL_SERVICE_FILE), `${JSON.stringify(service)}\n`, { mode: 0o600 });
}

export function removeServiceRecord(dataDir: string): void {
  try {
    rmSync(join(dataDir, LOCAL_SERVICE_FILE), { force: true });
  } catch (error) {
    // The folder itself may have been removed meanwhile.
    if (getErrorCode(error) !== 'ENOTDIR') throw error;
  }
}
