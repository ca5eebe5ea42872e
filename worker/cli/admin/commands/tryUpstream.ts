import { copyFile, rm } from 'node:fs/promises';
import { TrialError, tryUpstream } from '../../../../shared/domain/staff/tryUpstream.ts';
import { tryParseBoundedJson } from '../../../../shared/lib/boundedJson.ts';
import { MINUTE_MS } from '../../../../shared/spec/durations.ts';
import { MODEL_KINDS, type GenerationParams } from '../../../../shared/spec/catalog.ts';
import { type CommandContext, parseIntegerOption, UsageError } from '../command.ts';

const TIMEOUT_MINUTES = '10';

export async function tryConfiguredUpstream({ args, options, print }: CommandContext): Promise<void> {
  const { kind: wanted, prompt, params = '{}', output } = options;
  if (typeof prompt !== 'string' || prompt === '') throw new UsageError('--prompt is required.');
  const kind = MODEL_KINDS.find((one) => one === wanted);
  if (wanted !== undefined && kind === undefined) throw new UsageError('--kind must be image or video.');
  const timeoutMs = MINUTE_MS * parseIntegerOption(options['timeout'] ?? TIMEOUT_MINUTES, '--timeout', 1, 60);
  const trial = {
    name: args[0] as string,
    prompt,
    params: parseParams(params),
    ...(kind === undefined ? {} : { kind }),
    isDryRun: options['dryRun'] === true,
    timeoutMs,
  };
  try {
    const file = await tryUpstream(trial, print);
    if (trial.isDryRun) print('Nothing was sent: this was a dry run.');
    if (file === undefined) return;
    if (typeof output === 'string') {
      await copyFile(file, output);
      print(`Written to ${output}.`);
    }
    await rm(file, { force: true });
  } catch (error) {
    if (error instanceof TrialError) throw new UsageError(error.message);
    throw error;
  }
}

function parseParams(text: unknown): GenerationParams {
  const value = tryParseBoundedJson(String(text));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as GenerationParams;
  throw new UsageError('--params must be a JSON object, such as {"resolution":"1K"}.');
}
