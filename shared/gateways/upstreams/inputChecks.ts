import type { ModelKind } from '../../spec/catalog.ts';
import type { UpstreamSettings } from './upstreamSettings.ts';

/** Fields for the number of files. A generation has one, and the provider bills for each. */
const COUNT_FIELDS = ['n', 'num_images', 'num_outputs'];

interface BuiltInput {
  upstream: Pick<UpstreamSettings, 'adapter'>;
  kind: ModelKind;
  modelId: string;
}

/** Returns why an upstream would reject an input, or make files that are not used; undefined if nothing is known. */
export function findInputProblem(
  { upstream, kind, modelId }: BuiltInput,
  input: Record<string, unknown>,
): string | undefined {
  const countField = COUNT_FIELDS.find((field) => Number(input[field]) > 1);
  if (countField !== undefined)
    return `"${countField}" must be 1, because a generation has one file and the provider bills for ${String(input[countField])}`;
  const { size } = input;
  const isSized = upstream.adapter === 'openai' && kind === 'image' && typeof size === 'string' && size !== 'auto';
  if (!isSized || isGptImageSize(modelId, size)) return undefined;
  return `${modelId} does not make images of ${size}`;
}

/** Sizes of gpt-image-1, gpt-image-1.5 and gpt-image-1-mini. */
const FIXED_SIZES = ['1024x1024', '1536x1024', '1024x1536'];
/** Limits of gpt-image-2 and its successors, for sizes whose sides are multiples of 16. */
const FREE_SIZES = { longSideMax: 3840, ratioMax: 3, pixelsMin: 655_360, pixelsMax: 3840 * 2160 };

/** Returns whether a model of OpenAI makes images of a size; true for models whose sizes are not known. */
function isGptImageSize(modelId: string, size: string): boolean {
  const generation = /(?:^|\/)gpt-image-(\d+)/.exec(modelId)?.[1];
  if (generation === undefined) return true;
  if (generation === '1') return FIXED_SIZES.includes(size);
  const [width = 0, height = 0] = size.split('x').map(Number);
  const { longSideMax, ratioMax, pixelsMin, pixelsMax } = FREE_SIZES;
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const isWithin = width * height >= pixelsMin && width * height <= pixelsMax && long <= longSideMax;
  return isWithin && long <= ratioMax * short && width % 16 === 0 && height % 16 === 0;
}
