import { setInterval } from 'node:timers';
import type { Generation, Genmeter } from '@genmeter/client';
import type { Command } from 'commander';
import { downloadOutputs, type OutputOptions, STANDARD_OUTPUT } from './download.ts';
import { formatGeneration, printResult, toLine } from './output.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

const PROGRESS_INTERVAL_MS = 250;
const SPINNER = ['|', '/', '-', '\\'];
const BAR_WIDTH = 20;

export interface FinishOptions extends OutputOptions {
  wait?: boolean;
}

/** Adds the options of a command that {@link finish} ends. */
export function withFinishOptions(command: Command): Command {
  return command
    .option('-w, --wait', 'wait until the generation has ended')
    .option('-o, --output <file>', 'wait, then store the output in this file or folder; - writes it to standard output')
    .option('--force', 'replace an existing file of --output');
}

/** Waits for the end of a generation, shows how long it has taken meanwhile, and returns it. */
async function waitWithProgress(client: Genmeter, generation: Generation, terminal: Terminal): Promise<Generation> {
  if (generation.status !== 'queued') return generation;
  const { uuid, kind } = generation;
  const startedAt = Date.parse(generation.created_at);
  let frame = 0;
  let usualSeconds: number | null = null;
  const show = () => {
    const seconds = Math.max(0, Math.round((Date.now() - startedAt) / 1_000));
    const spinner = SPINNER[frame++ % SPINNER.length];
    terminal.progress(toLine(`${spinner} Creating the ${kind}: ${seconds} s${drawBar(seconds, usualSeconds)}`));
  };
  if (!terminal.isQuiet) show();
  const learnUsualTime = async () => {
    usualSeconds = await readUsualSeconds(client, generation, terminal.signal);
  };
  if (!terminal.isQuiet && terminal.isInteractive) void learnUsualTime();
  const timer = terminal.isQuiet ? undefined : setInterval(show, PROGRESS_INTERVAL_MS);
  try {
    return await client.generations.wait(uuid, { signal: terminal.signal });
  } finally {
    clearInterval(timer);
  }
}

/** Reads how long runs of the model usually take; null if that is not known, or the key may not estimate. */
async function readUsualSeconds(
  client: Genmeter,
  { model, prompt, params }: Generation,
  signal: AbortSignal,
): Promise<number | null> {
  try {
    return (await client.generations.estimate({ model, prompt, params }, { signal })).usual_seconds;
  } catch {
    return null;
  }
}

/** Draws the part of the usual time that has passed. The last step is left for the end, which may come later. */
function drawBar(seconds: number, usualSeconds: number | null): string {
  if (usualSeconds === null) return '';
  const done = Math.min(BAR_WIDTH - 1, Math.floor((BAR_WIDTH * seconds) / usualSeconds));
  return ` [${'#'.repeat(done)}${'-'.repeat(BAR_WIDTH - done)}] usually ${usualSeconds} s`;
}

/** Does what was requested after a generation was created or read: wait, download, print. */
export async function finish(
  client: Genmeter,
  generation: Generation,
  options: FinishOptions,
  terminal: Terminal,
): Promise<void> {
  const isWaiting = options.wait === true || options.output !== undefined;
  const last = isWaiting ? await waitWithProgress(client, generation, terminal) : generation;
  const files = last.status === 'succeeded' ? await downloadOutputs(last, options, terminal) : [];
  const [file] = files;
  if (options.output !== STANDARD_OUTPUT) {
    const stored = { ...(file === undefined ? {} : { file }), ...(files.length > 1 ? { files } : {}) };
    printResult(terminal, { ...last, ...stored }, () =>
      [formatGeneration(last), ...files.map((path) => `file      ${path}`)].join('\n'),
    );
  }
  if (isWaiting && last.status === 'failed') {
    const reason = last.error_message ?? 'The generation failed.';
    throw new CommandError(EXIT.generationFailed, 'generation_failed', `${reason} The credits were refunded.`);
  }
}
