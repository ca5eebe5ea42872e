import Type, { type TObject, type TSchema } from 'typebox';
import { createBodyParser, type Parse } from '../../../shared/lib/validation/bodyParser.ts';
import { listBriefly } from '../../../shared/lib/listBriefly.ts';
import type { CatalogModel, GenerationParams, ModelKind } from '../../../shared/spec/catalog.ts';
import { getCreateGenerationRequest } from '../../features/generations/schemas.ts';
import { defineTool, type Tool } from './defineTool.ts';
import { describeParams } from './paramTexts.ts';
import { describeDurations, describePrice, joinOr, listOfferedModels } from './modelTexts.ts';
import { buildSubmitOutput, DryRun, submitGeneration, type SubmitOptions, WaitSeconds } from './submitGeneration.ts';

/** Texts of the tool of each kind. */
const TEXTS = {
  image: {
    noun: 'an image',
    promptDescription: 'What the image shows: subject, setting, style, light. Any language.',
    ready: 'within 10 to 60 seconds',
    again: '',
    other: 'For a moving picture use generate_video.',
  },
  video: {
    noun: 'a video',
    promptDescription: 'What the video shows: subject, action, setting, camera, style. Any language.',
    ready: 'after 1 to 5 minutes',
    again: ', again while it is queued',
    other: 'For a still picture use generate_image.',
  },
} as const satisfies Record<ModelKind, object>;

/** Longest list of models with their descriptions. */
const MODEL_TEXTS_MAX_CHARACTERS = 4_000;

/** Fields of a call. The others are parameters of the model. */
interface GenerateCall extends SubmitOptions {
  prompt: string;
  model?: string;
}

/**
 * Builds the tool that creates generations of a kind, or null if the catalog offers no model of it. With several models
 * it has the argument `model`, and the arguments of all of them; the chosen model validates its own.
 */
export function buildGenerateTool(kind: ModelKind): Tool | null {
  const models = listOfferedModels(kind);
  const [first] = models;
  if (first === undefined) return null;
  const choice: Record<string, TSchema> = models.length === 1 ? {} : { model: buildModelChoice(models) };
  const params = models.length === 1 ? first.params : uniteParams(models);
  const parsers = new Map(
    models.map((model) => [model.slug, createBodyParser(buildInput(kind, model.params, choice))]),
  );
  return defineTool({
    name: `generate_${kind}`,
    title: `Generate ${TEXTS[kind].noun}`,
    description: describeTool(kind, models),
    price: describePrice(models),
    icon: kind,
    input: buildInput(kind, describeParams(kind, params, models), choice),
    output: buildSubmitOutput(),
    spendsCredits: true,
    needs: 'createGenerations',
    hasView: true,
    run: (call, toolContext) => {
      const { model = first.slug } = call as Partial<GenerateCall>;
      const parse = parsers.get(model) as Parse<unknown>;
      const { prompt, model: _, dry_run, wait_seconds, ...params } = parse(call) as GenerateCall & GenerationParams;
      return submitGeneration({ model, prompt, params }, { wait_seconds, dry_run }, toolContext);
    },
  });
}

function buildInput(kind: ModelKind, params: TObject, choice: Record<string, TSchema>): TObject {
  return Type.Object(
    {
      prompt: Type.Unsafe<string>({
        ...getCreateGenerationRequest().properties.prompt,
        description: TEXTS[kind].promptDescription,
      }),
      ...choice,
      ...params.properties,
      wait_seconds: WaitSeconds,
      dry_run: DryRun,
    },
    { additionalProperties: false, required: ['prompt', ...params.required] },
  );
}

function buildModelChoice(models: readonly CatalogModel[]): TSchema {
  const slugs = models.map(({ slug }) => slug);
  return Type.Optional(
    Type.Enum(slugs, {
      description: `Which model creates it. Without it: ${slugs[0]}. Each accepts its own arguments.`,
    }),
  );
}

/**
 * Unites the parameters of models: required if all of them require it, and with the values that any of them accepts.
 */
function uniteParams(models: readonly CatalogModel[]): TObject {
  const names = [...new Set(models.flatMap(({ params }) => Object.keys(params.properties)))];
  const properties = names.map((name): [string, TSchema] => {
    const owners = models.filter(({ params }) => Object.hasOwn(params.properties, name));
    const schemas = owners.map(({ params }) => withoutDefault(params.properties[name] as TSchema));
    const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
    const schema = distinct.length === 1 ? (distinct[0] as TSchema) : Type.Union(distinct);
    const only = owners.length === models.length ? '' : ` Only ${listBriefly(owners.map(({ slug }) => slug))}.`;
    const { description = '' } = distinct[0] as { description?: string };
    const text = `${description}${only}`.trim();
    return [name, text === '' ? schema : { ...schema, description: text }];
  });
  const required = names.filter((name) => models.every(({ params }) => params.required.includes(name)));
  return Type.Object(Object.fromEntries(properties), { required });
}

/** The chosen model fills in its defaults: those of other models must not be part of a call. */
function withoutDefault(schema: TSchema): TSchema {
  const { default: _, ...rest } = schema as TSchema & { default?: unknown };
  return rest;
}

function describeTool(kind: ModelKind, models: readonly CatalogModel[]): string {
  const { noun, ready, again, other } = TEXTS[kind];
  const sound = models.every(({ definition }) => definition.params['audio']?.type === 'boolean');
  const creates = `Creates ${noun}${describeDurations(models)} from a text prompt${sound ? ', with sound if wanted' : ''}.`;
  const price =
    models.length === 1
      ? `Costs ${describePrice(models)}, charged immediately and refunded if it fails.`
      : `The credits are charged immediately and refunded if it fails. Models: ${describeModels(models)}.`;
  return (
    `${creates} ${price} ${describeImages(models)}Returns immediately with the uuid of a queued generation; the ${kind} is usually ready ${ready}, and wait_seconds waits for it. ` +
    `Next, while it is queued: call get_generation with the uuid and wait_seconds 45${again}. Each call creates and charges a new ${kind}: do ` +
    `not repeat it to check on an earlier one. ${hasOtherKind(kind) ? other : ''}`
  ).trim();
}

/** Explains image arguments, if a model has any. */
function describeImages(models: readonly CatalogModel[]): string {
  const names = new Set(models.flatMap(({ inputs }) => Object.keys(inputs)));
  if (names.size === 0) return '';
  return `To use an image that was generated before, pass "generation:" and its uuid as ${joinOr([...names])}. `;
}

/**
 * Describes the models to choose from. Clients pass the text to their assistant with every request, so it stays short.
 */
function describeModels(models: readonly CatalogModel[]): string {
  const described = models.map(describeModel).join('; ');
  if (described.length <= MODEL_TEXTS_MAX_CHARACTERS) return described;
  return models.map((model) => `${model.slug} (${describePrice([model])})`).join('; ');
}

function describeModel(model: CatalogModel): string {
  return `${model.slug} (${model.name}: ${model.description.replace(/\.$/, '')}; ${describePrice([model])})`;
}

function hasOtherKind(kind: ModelKind): boolean {
  return listOfferedModels(kind === 'video' ? 'image' : 'video').length > 0;
}
