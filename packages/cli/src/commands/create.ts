import { randomUUID } from 'node:crypto';
import { GenmeterError, type Model } from '@genmeter/client';
import type { Command } from 'commander';
import { collectPair, parseCount, parseIdempotencyKey } from '../arguments.ts';
import { requireTarget } from '../download.ts';
import { withExamples } from '../help.ts';
import { collectImage, readImages, uploadImages } from '../images.ts';
import { findModel, parseParams } from '../models.ts';
import { formatEstimate, printResult } from '../output.ts';
import { openClient } from '../session.ts';
import { ChargedError, CommandError, EXIT, type Terminal } from '../terminal.ts';
import { type FinishOptions, finish, withFinishOptions } from '../waiting.ts';

interface CreateOptions extends FinishOptions {
  model?: string;
  param?: Record<string, string>;
  image?: Record<string, string[]>;
  webhookUrl?: string;
  metadata?: Record<string, string>;
  maxCredits?: number;
  estimate?: boolean;
  idempotencyKey?: string;
}

type Kind = Model['kind'];

export function addCreateCommand(program: Command, terminal: Terminal): void {
  const create = program.command('create').description('create an image or a video');
  withExamples(
    addKind(create, 'image', terminal),
    'create image "A lighthouse at dusk" -p resolution=2K -o lighthouse.png',
    'create image - --estimate < prompt.txt',
  );
  withExamples(
    addKind(create, 'video', terminal),
    'create video "Waves against a lighthouse" -p duration=5 -p audio=true --wait',
    'create video "The waves rise" --image first_frame=lighthouse.png -o - | ffplay -',
    'create video "Waves against a lighthouse" --max-credits 35 --idempotency-key order-17 --json',
  );
}

function addKind(create: Command, kind: Kind, terminal: Terminal): Command {
  const command = create
    .command(kind)
    .description(`create ${kind === 'image' ? 'an image' : 'a video'}; the credits are charged at once`)
    .argument('<prompt>', 'description of the result; - reads it from the standard input')
    .option('-m, --model <slug>', 'model; default: the first one that is available, see genmeter models')
    .option('-p, --param <name=value>', 'parameter, see genmeter models MODEL; can be repeated', collectPair)
    .option(
      '--image <parameter=file>',
      'image for a parameter: a file, an https address, upload:UUID or generation:UUID; can be repeated',
      collectImage,
    )
    .option('--webhook-url <url>', 'address that receives a webhook when the generation ends')
    .option(
      '--idempotency-key <key>',
      'repeating the command with the same key does not charge again; without a key, it may',
      parseIdempotencyKey,
    )
    .option('--metadata <key=value>', 'stored with the generation; can be repeated', collectPair)
    .option('--max-credits <number>', 'create nothing if the price is higher', parseCount)
    .option('--estimate', 'print the price and the balance, and create nothing');
  return withFinishOptions(command).action((prompt: string, options: CreateOptions) =>
    createGeneration(kind, prompt, options, terminal),
  );
}

async function createGeneration(kind: Kind, text: string, given: CreateOptions, terminal: Terminal): Promise<void> {
  const { signal } = terminal;
  const options = given.estimate === true ? given : await requireTarget(given, terminal);
  const images = await readImages(options.image);
  const hasFiles = Object.values(images).some((named) => named.some((image) => 'file' in image));
  if (options.idempotencyKey !== undefined && hasFiles) {
    const detail =
      'A file is a new upload each time, so it cannot be repeated with --idempotency-key. Name an image by its https address, upload:UUID or generation:UUID.';
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
  const prompt = text === '-' ? (await terminal.readInput()).trim() : text;
  if (text === '-' && prompt === '')
    throw new CommandError(EXIT.usage, 'usage', 'The standard input contains no prompt. Nothing was requested.');
  const client = openClient(terminal);
  const model = await findModel(client, { slug: options.model, kind }, signal);
  const params = parseParams(model, options.param ?? {});
  const request = {
    model: model.slug,
    prompt,
    params: { ...params, ...(await uploadImages(client, images, signal)) },
    webhook_url: options.webhookUrl,
    metadata: options.metadata,
    max_credits: options.maxCredits,
  };
  if (options.estimate === true) {
    const estimate = await client.generations.estimate(request, { signal });
    printResult(terminal, estimate, () => formatEstimate(estimate));
    return;
  }
  const idempotencyKey = options.idempotencyKey ?? randomUUID();
  const generation = await client.generations.create(request, { signal, idempotencyKey }).catch((error: unknown) => {
    if (!isOutcomeUnknown(error)) throw error;
    // Another model may be the first one that is available then.
    const chosen = options.model === undefined ? `-m ${model.slug} ` : '';
    const advice = hasFiles ? LIST_FIRST : buildRepetitionAdvice(`${chosen}--idempotency-key ${idempotencyKey}`);
    throw new ChargedError(error, { idempotency_key: idempotencyKey }, advice);
  });
  await finish(client, generation, options, terminal).catch((error: unknown) => {
    if (error instanceof CommandError && error.exitCode === EXIT.generationFailed) throw error;
    throw new ChargedError(error, { uuid: generation.uuid }, buildContinuationAdvice(generation.uuid, options));
  });
}

/** Returns whether a create may have been charged although its response says nothing, or none has arrived. */
function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof GenmeterError)) return true;
  // The sign-in has no valid token, so that nothing was sent.
  if (error.cause instanceof CommandError) return false;
  return error.status === undefined || ['internal_error', 'unexpected_response'].includes(error.error);
}

function buildContinuationAdvice(uuid: string, { output, force }: CreateOptions): string {
  const rest = output === undefined ? '--wait' : `-o ${output}${force === true ? ' --force' : ''}`;
  return `The generation was created. Continue without a second charge: genmeter get ${uuid} ${rest}`;
}

const buildRepetitionAdvice = (added: string) =>
  `The generation may have been created and charged. To get it without a second charge, repeat the command with: ${added}`;
const LIST_FIRST =
  'The generation may have been created and charged. Look for it before you repeat the command: genmeter list';
