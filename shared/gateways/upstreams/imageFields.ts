import type { GenerationParams, InputRole, ModelInput, ModelKind, ParamValue, Template } from '../../spec/catalog.ts';
import { INPUT_ROLES } from '../../spec/catalog.ts';
import type { TemplateVariables } from '../../lib/template.ts';
import type { BuiltInAdapter } from './modelPresets.ts';

type Inputs = Readonly<Record<string, ModelInput>>;

/** Fields for images in inputs that UPSTREAMS does not define, by protocol. */
const IMAGE_FIELDS: Record<BuiltInAdapter, Record<ModelKind, Partial<Record<InputRole, string>>>> = {
  fal: {
    video: { first_frame: 'image_url', last_frame: 'end_image_url', reference: 'image_urls' },
    image: { reference: 'image_urls', mask: 'mask_url' },
  },
  openai: { video: { first_frame: 'input_reference' }, image: { reference: 'image', mask: 'mask' } },
  replicate: {
    video: { first_frame: 'image', last_frame: 'last_frame_image', reference: 'reference_images' },
    image: { reference: 'image_input', mask: 'mask' },
  },
};

/** Adds the fields for the images that a model takes to an input that is not configured. */
export function addImageFields(input: Template, adapter: BuiltInAdapter, kind: ModelKind, inputs: Inputs): Template {
  const fields = IMAGE_FIELDS[adapter][kind];
  const added = listRoles(inputs).flatMap((role) => {
    const field = fields[role];
    return field === undefined ? [] : [[field, `$${role}`] as const];
  });
  return added.length === 0 ? input : { ...(input as { [field: string]: Template }), ...Object.fromEntries(added) };
}

/** An image of a generation, with its address. */
export interface RoleImage {
  role: InputRole;
  url: string;
}

/** Largest number of references of a model. */
const REFERENCES_MAX = 30;
const REFERENCE_NAMES = Array.from({ length: REFERENCES_MAX }, (_, index) => `reference_${index + 1}`);

/**
 * The variables of all images, without any. Templates that are the same for models with and without images use them.
 */
export const NO_IMAGES: Readonly<Record<string, null>> = Object.fromEntries(
  [...INPUT_ROLES, ...REFERENCE_NAMES].map((name) => [name, null]),
);

/**
 * Returns the variables for the images of a generation: `$first_frame`, `$last_frame` and `$mask` are an address,
 * `$reference` is a list, and `$reference_1` the first of it. Those without an image are null, so that their fields are
 * left out. Empty for a model without images.
 */
export function buildImageVariables(inputs: Inputs, images: readonly RoleImage[]): Record<string, ParamValue | null> {
  const urls = (role: InputRole) => images.filter((image) => image.role === role).map(({ url }) => url);
  const entries = listRoles(inputs).flatMap((role): [string, ParamValue | null][] => {
    const found = urls(role);
    if (role !== 'reference') return [[role, found[0] ?? null]];
    return [
      [role, found.length === 0 ? null : found],
      ...REFERENCE_NAMES.map((name, index): [string, string | null] => [name, found[index] ?? null]),
    ];
  });
  return Object.fromEntries(entries);
}

/** Returns true if the variables of a request contain an image. */
export const hasImages = (variables: TemplateVariables): boolean =>
  Object.keys(NO_IMAGES).some((name) => (variables[name] ?? null) !== null);

/**
 * Lists the images with which an input is checked at the start: one for each required parameter, the same with one for
 * each of the others by itself, and as many as all parameters take.
 */
export function listSampleImages(inputs: Inputs): RoleImage[][] {
  const names = Object.keys(inputs);
  const fewest = names
    .filter((name) => inputs[name]?.required === true)
    .flatMap((name) => buildSampleImages(inputs, name, 1));
  const others = names.filter((name) => inputs[name]?.required !== true);
  const withOne = others.map((name) => [...fewest, ...buildSampleImages(inputs, name, 1)]);
  return [
    fewest,
    ...withOne,
    ...(names.length === 0 ? [] : [names.flatMap((name) => buildSampleImages(inputs, name))]),
  ];
}

/** Returns example images for the check of an input at the start. Default: as many as the parameter takes. */
export function buildSampleImages(inputs: Inputs, name: string, count = (inputs[name] as ModelInput).max): RoleImage[] {
  const { role } = inputs[name] as ModelInput;
  return Array.from({ length: count }, (_, index) => ({ role, url: `https://images.invalid/${name}-${index}.png` }));
}

/** Removes the values of image parameters, which templates read by their roles. */
export function omitImageParams(inputs: Inputs, params: GenerationParams): GenerationParams {
  return Object.fromEntries(Object.entries(params).filter(([name]) => inputs[name] === undefined));
}

function listRoles(inputs: Inputs): InputRole[] {
  const declared = new Set(Object.values(inputs).map(({ role }) => role));
  return INPUT_ROLES.filter((role) => declared.has(role));
}
