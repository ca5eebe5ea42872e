import type { GenerationParams, InputRole, ModelInput, ModelKind, ParamValue, Template } from '../../spec/catalog.ts';
import { INPUT_ROLES } from '../../spec/catalog.ts';
import type { AdapterName } from './modelPresets.ts';

type Inputs = Readonly<Record<string, ModelInput>>;

/** Fields for images in inputs that UPSTREAMS does not define, by protocol. */
const IMAGE_FIELDS: Record<AdapterName, Record<ModelKind, Partial<Record<InputRole, string>>>> = {
  fal: {
    video: { first_frame: 'image_url', last_frame: 'end_image_url', reference: 'image_urls' },
    image: { reference: 'image_urls' },
  },
  openai: { video: { first_frame: 'input_reference' }, image: { reference: 'image' } },
  replicate: {
    video: { first_frame: 'image', last_frame: 'last_frame_image', reference: 'reference_images' },
    image: { reference: 'image_input' },
  },
};

/** Adds the fields for the images that a model takes to an input that is not configured. */
export function addImageFields(input: Template, adapter: AdapterName, kind: ModelKind, inputs: Inputs): Template {
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

/**
 * Returns the variables for the images of a generation: `$first_frame` and `$last_frame` are an address and `$reference`
 * is a list. Those without an image are null, so that their fields are left out. Empty for a model without images.
 */
export function buildImageVariables(inputs: Inputs, images: readonly RoleImage[]): Record<string, ParamValue | null> {
  const urls = (role: InputRole) => images.filter((image) => image.role === role).map(({ url }) => url);
  return Object.fromEntries(
    listRoles(inputs).map((role) => {
      const [first, ...rest] = urls(role);
      if (first === undefined) return [role, null];
      return [role, role === 'reference' ? [first, ...rest] : first];
    }),
  );
}

/** Returns example images for the check of an input at the start: one for every parameter. */
export function buildSampleImages(inputs: Inputs, names: readonly string[]): RoleImage[] {
  return names.map((name) => ({
    role: (inputs[name] as ModelInput).role,
    url: `https://images.invalid/${name}.png`,
  }));
}

/** Removes the values of image parameters, which templates read by their roles. */
export function omitImageParams(inputs: Inputs, params: GenerationParams): GenerationParams {
  return Object.fromEntries(Object.entries(params).filter(([name]) => inputs[name] === undefined));
}

function listRoles(inputs: Inputs): InputRole[] {
  const declared = new Set(Object.values(inputs).map(({ role }) => role));
  return INPUT_ROLES.filter((role) => declared.has(role));
}
