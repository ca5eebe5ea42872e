import Type from 'typebox';
import { ImageParams } from '../../../shared/spec/catalog.ts';
import { CreateGenerationRequest } from '../../rest/generations/schemas.ts';
import { defineTool } from './defineTool.ts';
import { DryRun, submitGeneration, SubmitOutput } from './submitGeneration.ts';

const GenerateImageInput = Type.Object(
  {
    prompt: Type.Unsafe<string>({
      ...CreateGenerationRequest.properties.prompt,
      description: 'What the image shows: subject, setting, style, light. Any language.',
    }),
    ...ImageParams.properties,
    dry_run: DryRun,
  },
  { additionalProperties: false, required: ['prompt', ...ImageParams.required] },
);

export const generateImage = defineTool({
  name: 'generate_image',
  title: 'Generate an image',
  description:
    'Creates an image from a text prompt. Costs 8 credits, charged immediately and refunded if it fails. ' +
    'Returns immediately with the uuid of a queued generation; the image is usually ready within 10 to 60 seconds. ' +
    'Next: call get_generation with the uuid and wait_seconds 45. Each call creates and charges a new image: do ' +
    'not repeat it to check on an earlier one. For a moving picture use generate_video.',
  icon: 'image',
  input: GenerateImageInput,
  output: SubmitOutput,
  spendsCredits: true,
  run: ({ prompt, dry_run: isDryRun, ...params }, toolContext) =>
    submitGeneration({ model: 'imgmodel-2', prompt, params }, { wait: '45', isDryRun }, toolContext),
});
