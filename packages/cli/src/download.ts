import { randomUUID } from 'node:crypto';
import { accessSync, constants, createWriteStream, existsSync, lstatSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Generation } from '@genmeter/client';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

export interface OutputOptions {
  /** File, existing folder, or `-`. */
  output?: string;
  force?: boolean;
  /** A file that {@link requireTarget} has found, and that is replaced. */
  replaced?: string | undefined;
}

/** Value of `--output` for the standard output. */
export const STANDARD_OUTPUT = '-';

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** The most files that a generation has. */
const OUTPUTS_MAX = 16;

/**
 * Checks, before credits are charged, that outputs can be stored, and asks before the first file is replaced. Only the
 * generation says whether there are others.
 * @returns the options with the file that may be replaced.
 * @throws CommandError if they cannot, or must not be.
 */
export async function requireTarget<Options extends OutputOptions>(
  options: Options,
  terminal: Terminal,
): Promise<Options> {
  const { output: target } = options;
  if (target === undefined) return options;
  if (target === STANDARD_OUTPUT) {
    requireOutputPipe(terminal);
    return options;
  }
  const first = isFolder(target) ? join(target, randomUUID()) : target;
  const folder = dirname(first);
  try {
    // Fails as well if the folder does not exist.
    accessSync(folder, constants.W_OK);
    if (!isFolder(folder)) throw new Error('it is not a folder');
    // Fails if the name is too long.
    lstatSync(namePart(addNumber(first, OUTPUTS_MAX)), { throwIfNoEntry: false });
  } catch (error) {
    const reason = (error as Error).message;
    const detail = `The output cannot be stored in the folder ${folder} of --output: ${reason}. Nothing was requested.`;
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
  if (!existsSync(first)) return options;
  await requireReplaceable(first, options, terminal);
  return { ...options, replaced: first };
}

function requireOutputPipe({ isJson, isOutputTerminal }: Terminal): void {
  if (isJson) throw new CommandError(EXIT.usage, 'usage', '--json and --output - both use the standard output.');
  if (!isOutputTerminal) return;
  const detail = 'The standard output is a terminal. Redirect it, or name a file with --output. Nothing was requested.';
  throw new CommandError(EXIT.usage, 'usage', detail);
}

/** Asks before a file is replaced. @throws CommandError if it must not be. */
async function requireReplaceable(file: string, { force }: OutputOptions, terminal: Terminal): Promise<void> {
  if (force === true || !existsSync(file)) return;
  if (terminal.isInteractive && /^y(es)?$/i.test((await terminal.ask(`Replace ${file}? [y/N] `)).trim())) return;
  throw new CommandError(EXIT.usage, 'file_exists', `${file} exists and was not replaced. Pass --force to replace it.`);
}

/**
 * Stores the output of a generation, or writes it to the standard output. A file of that name appears only when it is
 * complete. Files after the first one have a number before their extension; the standard output receives the first.
 * @returns the paths of the files.
 */
export async function downloadOutputs(
  generation: Generation,
  options: OutputOptions,
  terminal: Terminal,
): Promise<string[]> {
  const { output: target } = options;
  const { output_url: url, outputs = [{ output_url: url }], uuid } = generation;
  if (target === undefined) return [];
  if (url === null) throw new CommandError(EXIT.failure, 'no_output', `Generation ${uuid} has no output.`);
  if (target === STANDARD_OUTPUT) {
    await transfer(terminal, async () => terminal.writeFile(await request(url, terminal.signal)));
    return [];
  }
  const first = isFolder(target) ? join(target, nameFile(uuid, url)) : target;
  const files: string[] = [];
  for (const [index, { output_url: address }] of outputs.entries()) {
    const file = addNumber(first, index + 1);
    if (file !== options.replaced) await requireReplaceable(file, options, terminal);
    await transfer(terminal, () => store(address ?? url, file, terminal.signal));
    files.push(file);
  }
  return files;
}

/** Stores a file under its name once it is complete. */
async function store(url: string, file: string, signal: AbortSignal): Promise<void> {
  const partial = namePart(file);
  try {
    await pipeline(await request(url, signal), createWriteStream(partial, { flags: 'wx' }), { signal });
    await rename(partial, file);
  } catch (error) {
    // The reason to report is why it could not be stored, not why its part could not be removed.
    await rm(partial, { force: true }).catch(() => {});
    throw error;
  }
}

/** Returns the name under which a file is stored until it is complete. */
const namePart = (file: string): string => `${file}.${randomUUID()}.part`;

/** Returns the name of a file with a number before its extension; the first file has none. */
function addNumber(file: string, number: number): string {
  if (number === 1) return file;
  const { dir, name, ext } = parse(file);
  return join(dir, `${name}.${number}${ext}`);
}

async function request(url: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const response = await fetch(url, { signal });
  if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
  return response.body as AsyncIterable<Uint8Array>;
}

/** Runs a transfer. @throws CommandError that says why it failed. */
async function transfer({ signal }: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    const { cause, message, syscall } = error as NodeJS.ErrnoException & { cause?: Error };
    // An error of the file system lasts.
    const exitCode = syscall === undefined ? EXIT.temporary : EXIT.failure;
    const detail = `The output could not be stored: ${cause?.message ?? message}.`;
    throw new CommandError(exitCode, 'download_failed', detail);
  }
}

/** Returns a name without folders and control characters, whatever the service returns as uuid. */
function nameFile(uuid: string, url: string): string {
  return `${uuid.replaceAll(/[^\w-]/g, '_')}${/\.\w+$/.exec(new URL(url).pathname)?.[0] ?? ''}`;
}
