import type { GenerationParams, Genmeter, Model } from '@genmeter/client';
import type { Command } from 'commander';
import { collectPair, parseCount, parseIdempotencyKey } from '../arguments.ts';
import { requireTarget } from '../download.ts';
import { withExamples } from '../help.ts';
import { formatEstimate, printResult, withJson } from '../output.ts';
import { openClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';
import { type FinishOptions, finish } from '../waiting.ts';

interface CreateOptions extends FinishOptions {
  model?: string;
  resolution?: string;
  aspectRatio?: string;
  duration?: number;
  audio?: boolean;
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
    'create image "A lighthouse at dusk" -r 2K -o lighthouse.png',
    'create image "A lighthouse at dusk" --estimate',
  );
  const video = addKind(create, 'video', terminal)
    .option('-d, --duration <seconds>', 'length; default: the shortest of the model', parseCount)
    .option('--audio', 'with sound');
  withExamples(
    video,
    'create video "Waves against a lighthouse" -d 5 --audio --wait',
    'create video "Waves against a lighthouse" --max-credits 35 --idempotency-key order-17 --json',
  );
}

function addKind(create: Command, kind: Kind, terminal: Terminal): Command {
  const command = create
    .command(kind)
    .description(`create ${kind === 'image' ? 'an image' : 'a video'}; the credits are charged at once`)
    .argument('<prompt>', 'description of the result')
    .option('-m, --model <slug>', 'model; default: the first one that is available, see genmeter models')
    .option('-r, --resolution <value>', 'resolution; default: the lowest of the model')
    .option('-a, --aspect-ratio <ratio>', 'format, such as 16:9; default: that of the model')
    .option('--webhook-url <url>', 'address that receives a webhook when the generation ends')
    .option(
      '--idempotency-key <key>',
      'repeating the command with the same key does not charge again',
      parseIdempotencyKey,
    )
    .option('--metadata <key=value>', 'stored with the generation; can be repeated', collectPair)
    .option('--max-credits <number>', 'create nothing if the price is higher', parseCount)
    .option('--estimate', 'print the price and the balance, and create nothing')
    .option('-w, --wait', 'wait until the generation has ended')
    .option('-o, --output <file>', 'wait, then store the output in this file or folder');
  return withJson(command).action((prompt: string, options: CreateOptions) =>
    createGeneration(kind, prompt, options, terminal),
  );
}

async function createGeneration(kind: Kind, prompt: string, options: CreateOptions, terminal: Terminal): Promise<void> {
  requireTarget(options.output);
  const client = openClient(terminal);
  const { signal } = terminal;
  const model = await findModel(client, kind, options.model, signal);
  const request = {
    model: model.slug,
    prompt,
    params: chooseParams(model, options),
    webhook_url: options.webhookUrl,
    metadata: options.metadata,
    max_credits: options.maxCredits,
  };
  if (options.estimate === true) {
    const estimate = await client.generations.estimate(request, { signal });
    printResult(terminal, options.json, estimate, () => formatEstimate(estimate));
    return;
  }
  const generation = await client.generations.create(request, { signal, idempotencyKey: options.idempotencyKey });
  await finish(client, generation, options, terminal);
}

async function findModel(client: Genmeter, kind: Kind, slug: string | undefined, signal: AbortSignal): Promise<Model> {
  const models: Model[] = [];
  for await (const model of client.models.list({ signal })) if (model.kind === kind) models.push(model);
  const found = slug === undefined ? (models.find(isAvailable) ?? models[0]) : models.find((one) => one.slug === slug);
  if (found !== undefined) return found;
  const known = models.map((model) => model.slug).join(', ');
  const detail =
    known === '' ? `The service has no ${kind} model.` : `There is no ${kind} model ${slug}. Choose one of: ${known}.`;
  throw new CommandError(EXIT.usage, 'usage', detail);
}

const isAvailable = ({ status }: Model): boolean => status !== 'offline';

function chooseParams(model: Model, { resolution, duration, audio, aspectRatio }: CreateOptions): GenerationParams {
  const { resolutions, durations } = model.params_schema;
  return {
    resolution: resolution ?? resolutions[0],
    aspect_ratio: aspectRatio,
    ...(durations === undefined ? {} : { duration: duration ?? durations[0], audio }),
  };
}
