import Type from 'typebox';
import { getModelBySlug } from '../../../shared/lib/catalog/catalog.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { getCreateGenerationRequest } from '../../rest/generations/schemas.ts';
import { defineTool } from './defineTool.ts';
import { withNextStep } from './callToolResult.ts';
import { submitGeneration } from './submitGeneration.ts';

const buildInput = () => {
  const { params } = getModelBySlug('vidmodel-video');
  return Type.Object(
    {
      prompt: Type.Unsafe<string>({
        ...getCreateGenerationRequest().properties.prompt,
        description: 'What the video shows: subject, action, setting, camera, style. Any language.',
      }),
      ...params.properties,
    },
    { additionalProperties: false, required: ['prompt', ...params.required] },
  );
};

export const generateVideo = () =>
  defineTool({
    name: 'generate_video',
    title: 'Generate a video',
    description:
      'Creates a video of 5 or 10 seconds from a text prompt, with sound if wanted. Costs 35 credits for 5 seconds and 70 ' +
      'for 10, charged immediately and refunded if it fails. Returns immediately with the uuid of a queued ' +
      'generation; the video is usually ready after 1 to 5 minutes. Next: call get_generation with the uuid and ' +
      'wait_seconds 45, again while it is queued. Each call creates and charges a new video: do not repeat it ' +
      'to check on an earlier one. For a still picture use generate_image.',
    icon: 'video',
    input: buildInput(),
    output: withNextStep(getGenerationResponse()),
    spendsCredits: true,
    run: ({ prompt, ...params }, toolContext) =>
      submitGeneration({ model: 'vidmodel-video', prompt, params }, '45', toolContext),
  });
