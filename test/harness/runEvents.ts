import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fact that mocha's processes report about a run, beside the results that mocha collects itself. */
export type RunEvent =
  /** Time that a process spent on a file, including loading. */
  | { kind: 'file'; file: string; ms: number }
  /** The tests of a file cannot run on this machine, for this reason. */
  | { kind: 'skip'; file: string; reason: string }
  /** The run has ended with this number of tests, including failed and skipped ones. */
  | { kind: 'end'; tests: number };

const getScratchFolder = (): string | undefined => process.env['TEST_FOLDER'];

/** Appends an event to the file of this run, which all of its processes share. */
export function appendRunEvent(event: RunEvent): void {
  const scratch = getScratchFolder();
  if (scratch !== undefined) appendFileSync(join(scratch, 'events.jsonl'), `${JSON.stringify(event)}\n`);
}

/** All events of this run so far, or of the run with this scratch folder. */
export function readRunEvents(scratch = getScratchFolder()): RunEvent[] {
  const file = join(scratch ?? '', 'events.jsonl');
  if (scratch === undefined || !existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RunEvent);
}
