import Type from 'typebox';
import { VideoParams } from '../../../shared/spec/catalog.ts';
import { GenerationResponse } from '../../rest/generations/schemas.ts';
import { CreateGenerationRequest } from '../../rest/generations/schemas.ts';
import { withNextStep } from './results.ts';
import { submitGeneration } from './submitGeneration.ts';
import { defineTool } from './defineTool.ts';

const GenerateVideoInput = Type.Object(
  {
    prompt: Type.Unsafe<string>({
      ...CreateGenerationRequest.properties.prompt,
      description: 'What the video shows: subject, action, setting, camera, style. Any language.',
    }),
    ...VideoParams.properties,
  },
  { additionalProperties: false, required: ['prompt', ...VideoParams.required] },
);

export const generateVideo = defineTool({
  name: 'generate_video',
  title: 'Generate a video',
  description:
    'Makes a video of 5 or 10 seconds from a text prompt, with sound if wanted. Costs 35 credits for 5 seconds and 70 ' +
    'for 10, which are charged at once and refunded if it fails. Returns immediately with the uuid of a queued ' +
    'generation; the video is usually ready after 1 to 5 minutes. Next: call get_generation with the uuid and ' +
    'wait_seconds 45, again for as long as it is queued. Each call makes and charges a new video: do not repeat it to ' +
    'find out how the first one is getting on. For a still picture use generate_image.',
  icon: 'video',
  input: GenerateVideoInput,
  output: withNextStep(GenerationResponse),
  creates: true,
  run: ({ prompt, ...params }, call) => submitGeneration({ model: 'vidmodel-video', prompt, params }, '45', call),
});
