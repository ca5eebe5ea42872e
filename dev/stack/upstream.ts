import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { choosePort } from '../servers/ports.ts';
import { readRecord, writeRecord } from '../servers/runningServer.ts';
import type { Settings } from './settings.ts';

/** How the sample upstream is started. */
export interface UpstreamPlace {
  url: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Prepares the place of the sample upstream in the data folder. It keeps its port from start to start: jobs under way
 * remember the addresses that they are to be asked after.
 */
export async function prepareUpstream({ dataDir }: Settings): Promise<UpstreamPlace> {
  const folder = join(dataDir, 'upstream');
  mkdirSync(folder, { recursive: true });
  const recordFile = join(folder, 'upstream.json');
  const port = await choosePort(undefined, readRecord(recordFile)?.port);
  writeRecord(recordFile, { port, pid: null, how: 'sample upstream' });
  return {
    url: `http://127.0.0.1:${port}`,
    env: { ...process.env, PORT: String(port), SAMPLE_DATA_DIR: folder },
  };
}
