import { setInterval } from 'node:timers';
import type { Generation, Genmeter } from '@genmeter/client';
import { downloadOutput } from './download.ts';
import { formatGeneration, printResult, toLine } from './output.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

const PROGRESS_INTERVAL_MS = 500;

export interface FinishOptions {
  wait?: boolean;
  output?: string;
  json?: boolean;
}

/** Waits for the end of a generation, shows how long it has taken meanwhile, and returns it. */
export async function waitWithProgress(
  client: Genmeter,
  generation: Generation,
  terminal: Terminal,
): Promise<Generation> {
  if (generation.status !== 'queued') return generation;
  const startedAt = Date.parse(generation.created_at);
  const show = () => {
    const seconds = Math.max(0, Math.round((Date.now() - startedAt) / 1_000));
    terminal.progress(toLine(`${generation.kind} ${generation.uuid}: in progress for ${seconds} s`));
  };
  show();
  const timer = setInterval(show, PROGRESS_INTERVAL_MS);
  try {
    return await client.generations.wait(generation.uuid, { signal: terminal.signal });
  } catch (error) {
    terminal.note(toLine(`The generation continues. See its outcome with: genmeter get ${generation.uuid} --wait`));
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** Does what was requested after a generation was created or read: wait, download, print. */
export async function finish(
  client: Genmeter,
  generation: Generation,
  { wait, output, json }: FinishOptions,
  terminal: Terminal,
): Promise<void> {
  const isWaiting = wait === true || output !== undefined;
  const last = isWaiting ? await waitWithProgress(client, generation, terminal) : generation;
  const hasOutput = last.status === 'succeeded' && output !== undefined;
  const file = hasOutput ? await downloadOutput(last, output, terminal.signal) : undefined;
  printResult(terminal, json, file === undefined ? last : { ...last, file }, () =>
    [formatGeneration(last), ...(file === undefined ? [] : [`file      ${file}`])].join('\n'),
  );
  if (isWaiting && last.status === 'failed') {
    const reason = last.error_message ?? 'The generation failed.';
    throw new CommandError(EXIT.generationFailed, 'generation_failed', `${reason} The credits were refunded.`);
  }
}
