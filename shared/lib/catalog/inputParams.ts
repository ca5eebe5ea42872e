import Type, { type TSchema } from 'typebox';
import type { InputDefinition } from '../../spec/catalog.ts';

const ROLE_DESCRIPTIONS: Record<InputDefinition['role'], string> = {
  first_frame: 'Image with which the video begins',
  last_frame: 'Image with which the video ends',
  reference: 'Image to use as a reference',
};

const FORMS =
  '"generation:<uuid>" for an image of the account, "upload:<uuid>" for an upload, or an https address of a PNG, JPEG or WebP';

/** Builds the schemas of the parameters that take images. Their form is checked when the images are prepared. */
export function buildInputParams(inputs: Readonly<Record<string, InputDefinition>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { required = false, ...input }]) => {
      const schema = buildInputParam(input);
      return [name, required ? schema : Type.Optional(schema)];
    }),
  );
}

function buildInputParam({ role, max = 1 }: InputDefinition): TSchema {
  const description = `${ROLE_DESCRIPTIONS[role]}: ${FORMS}.`;
  if (max === 1) return Type.String({ minLength: 1, description });
  return Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: max, description });
}

/** Lists the parameters that a request must have an image for. */
export function listRequiredInputs(inputs: Readonly<Record<string, InputDefinition>>): string[] {
  return Object.entries(inputs)
    .filter(([, { required }]) => required === true)
    .map(([name]) => name);
}
