import { readGeneration } from '../../../shared/domain/generations/read.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import type { ToolContext } from './defineTool.ts';

/** Interval of the progress notifications during a wait. */
const PROGRESS_INTERVAL_MS = 2_000;

/**
 * Reads a generation, and waits for its end with progress notifications.
 * @throws ServiceError not_found; invalid_api_key.
 */
export async function waitForGeneration(uuid: string, seconds: number, toolContext: ToolContext): Promise<Generation> {
  const stopReporting = startProgressReports(seconds, toolContext);
  try {
    const wait = { seconds, isAborted: toolContext.isAborted };
    return await readGeneration(toolContext.caller, uuid, wait);
  } finally {
    stopReporting();
  }
}

/** Sends progress notifications while the call waits. @returns a function that stops them. */
function startProgressReports(seconds: number, { reportProgress }: ToolContext): () => void {
  if (reportProgress === null || seconds === 0) return () => {};
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const elapsedSeconds = Math.min(seconds, Math.round((performance.now() - startedAt) / 1_000));
    reportProgress(elapsedSeconds, seconds, `Still queued after ${elapsedSeconds} s.`);
  }, PROGRESS_INTERVAL_MS);
  reportProgress(0, seconds, 'Waiting for the generation to end.');
  return () => clearInterval(timer);
}
