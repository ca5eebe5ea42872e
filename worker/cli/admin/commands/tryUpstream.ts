import { copyFile, readFile, rm } from 'node:fs/promises';
import { TrialError, type TrialImage, tryUpstream } from '../../../../shared/domain/upstreams/tryUpstream.ts';
import { sniffFormat } from '../../../../shared/gateways/media/formats.ts';
import { tryParseBoundedJson } from '../../../../shared/lib/boundedJson.ts';
import { MINUTE_MS } from '../../../../shared/spec/durations.ts';
import { type GenerationParams, INPUT_ROLES, MODEL_KINDS } from '../../../../shared/spec/catalog.ts';
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
    images: await Promise.all(listTexts(options['image']).map(readImage)),
    ...(kind === undefined ? {} : { kind }),
    isDryRun: options['dryRun'] === true,
    timeoutMs,
  };
  try {
    const made = await tryUpstream(trial, print);
    if (trial.isDryRun) print('Nothing was sent: this was a dry run.');
    if (made === undefined) return;
    const { file } = made;
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

const listTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Reads an image, which an option names as `role=file`. */
async function readImage(option: string): Promise<TrialImage> {
  const equals = option.indexOf('=');
  const role = INPUT_ROLES.find((one) => one === option.slice(0, equals));
  if (role === undefined) throw new UsageError(`--image must be role=file, with one of ${INPUT_ROLES.join(', ')}.`);
  const file = option.slice(equals + 1);
  const content = await readFile(file).catch((error: Error) => {
    throw new UsageError(`--image cannot be read: ${error.message}.`);
  });
  try {
    return { role, contentType: sniffFormat(content, 'image').contentType, content };
  } catch {
    throw new UsageError(`--image must be a PNG, JPEG or WebP file, which ${file} is not.`);
  }
}

function parseParams(text: unknown): GenerationParams {
  const value = tryParseBoundedJson(String(text));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as GenerationParams;
  throw new UsageError('--params must be a JSON object, such as {"resolution":"1K"}.');
}
