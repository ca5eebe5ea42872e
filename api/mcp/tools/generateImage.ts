import Type from 'typebox';
import { getModelBySlug } from '../../../shared/lib/catalog/catalog.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { getCreateGenerationRequest } from '../../rest/generations/schemas.ts';
import { defineTool } from './defineTool.ts';
import { withNextStep } from './callToolResult.ts';
import { submitGeneration } from './submitGeneration.ts';

const buildInput = () => {
  const { params } = getModelBySlug('imgmodel-2');
  return Type.Object(
    {
      prompt: Type.Unsafe<string>({
        ...getCreateGenerationRequest().properties.prompt,
        description: 'What the image shows: subject, setting, style, light. Any language.',
      }),
      ...params.properties,
    },
    { additionalProperties: false, required: ['prompt', ...params.required] },
  );
};

export const generateImage = () =>
  defineTool({
    name: 'generate_image',
    title: 'Generate an image',
    description:
      'Creates an image from a text prompt. Costs 8 credits, charged immediately and refunded if it fails. ' +
      'Returns immediately with the uuid of a queued generation; the image is usually ready within 10 to 60 seconds. ' +
      'Next: call get_generation with the uuid and wait_seconds 45. Each call creates and charges a new image: do ' +
      'not repeat it to check on an earlier one. For a moving picture use generate_video.',
    icon: 'image',
    input: buildInput(),
    output: withNextStep(getGenerationResponse()),
    spendsCredits: true,
    run: ({ prompt, ...params }, toolContext) =>
      submitGeneration({ model: 'imgmodel-2', prompt, params }, '45', toolContext),
  });
