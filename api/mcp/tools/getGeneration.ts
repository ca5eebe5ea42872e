import Type from 'typebox';
import { isUuid } from '../../../shared/lib/uuid.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { MCP_DEFAULT_WAIT_SECONDS, WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { withNextStep } from './callToolResult.ts';
import { defineTool } from './defineTool.ts';
import { buildGenerationResult } from './generationResult.ts';
import { waitForGeneration } from './waitForGeneration.ts';

const GetGenerationInput = Type.Object(
  {
    uuid: Type.String({ description: 'The uuid that generate_image or generate_video returned.' }),
    wait_seconds: Type.Integer({
      minimum: 0,
      maximum: WAIT_MAX_SECONDS,
      default: MCP_DEFAULT_WAIT_SECONDS,
      description:
        'Seconds to wait while it is queued. The call returns as soon as it has ended; 0 returns immediately.',
    }),
    include_thumbnail: Type.Boolean({
      default: false,
      description:
        'true adds a small picture of a succeeded generation, or of the first frame of a video, so that you can see it. Use it to check or describe the result.',
    }),
  },
  { additionalProperties: false, required: ['uuid'] },
);

export const getGeneration = () =>
  defineTool({
    name: 'get_generation',
    title: 'Get a generation',
    description:
      'Returns the status of an image or video and waits for its end: the call returns as soon as it has succeeded or ' +
      'failed, or after wait_seconds (at most 45). Costs no credits. While the status is queued, call it again with ' +
      'wait_seconds 45 rather than often with 0. When it has succeeded, output_url is its permanent download URL; ' +
      'show or link that to the user. When it has failed, error_message says why, and the credits were refunded.',
    icon: 'generation',
    input: GetGenerationInput,
    output: withNextStep(getGenerationResponse()),
    spendsCredits: false,
    needs: 'viewGenerations',
    hasView: true,
    run: async ({ uuid, wait_seconds: seconds, include_thumbnail: hasThumbnail }, toolContext) => {
      // An invalid UUID returns the same error as an unknown one.
      if (!isUuid(uuid))
        throw new ServiceError('not_found', 'Not found. This account has no generation with that UUID.');
      return buildGenerationResult(await waitForGeneration(uuid.toLowerCase(), seconds, toolContext), { hasThumbnail });
    },
  });
